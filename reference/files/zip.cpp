// SPDX-License-Identifier: Apache-2.0
// The directory of a zip. For the fields see PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3.
#include "reference/files/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

constexpr std::uint64_t kEnd = 22, kLocator = 20, kEnd64 = 56, kEntry = 46;  // bytes of the fixed parts
constexpr std::uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50, kEnd64Mark = 0x06064b50,
                        kEntryMark = 0x02014b50;
constexpr std::uint64_t kMaxDirectory = std::uint64_t{64} << 20;

template <class T>
T field(const std::vector<std::byte>& bytes, std::size_t at) {
  return little_endian<T>(bytes.data() + at);
}

struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
  bool one_disk = true;
};

// The end record is the last part of the file, except for a comment of at most 65,535 bytes.
std::optional<std::uint64_t> find_end(FileBytes& file) {
  const std::uint64_t length = std::min<std::uint64_t>(file.size(), kEnd + 0xffff);
  file.window(file.size() - length, length);
  const std::vector<std::byte> tail = file.take(length);
  for (std::size_t at = tail.size() < kEnd ? 0 : tail.size() - kEnd + 1; at-- > 0;)
    if (field<std::uint32_t>(tail, at) == kEndMark &&
        at + kEnd + field<std::uint16_t>(tail, at + 20) == tail.size())
      return file.size() - length + at;
  return std::nullopt;
}

std::vector<std::byte> part(FileBytes& file, std::uint64_t offset, std::uint64_t length) {
  file.window(offset, length);
  return file.take(length);
}

/// Reads the zip64 end record, if there is a locator before the end record at `end`.
std::optional<Directory> directory64(FileBytes& file, std::uint64_t end) {
  if (end < kLocator) return std::nullopt;
  const auto locator = part(file, end - kLocator, kLocator);
  if (field<std::uint32_t>(locator, 0) != kLocatorMark) return std::nullopt;
  const auto at = field<std::uint64_t>(locator, 8);
  if (at > end - kLocator || end - kLocator - at < kEnd64)
    refuse_file(file.place(), "damaged: the zip64 record lies outside the file");
  const auto record = part(file, at, kEnd64);
  if (field<std::uint32_t>(record, 0) != kEnd64Mark)
    refuse_file(file.place(), "damaged: the zip64 record is missing");
  return Directory{field<std::uint64_t>(record, 48), field<std::uint64_t>(record, 40),
                   field<std::uint64_t>(record, 32),
                   field<std::uint32_t>(record, 16) == 0 && field<std::uint32_t>(record, 20) == 0};
}

Directory find_directory(FileBytes& file) {
  const auto end = find_end(file);
  if (!end)
    refuse_file(file.place(), "not a whole .npz file (a zip ends with its directory, which is missing)");
  const auto record = part(file, *end, kEnd);
  Directory d{field<std::uint32_t>(record, 16), field<std::uint32_t>(record, 12),
              field<std::uint16_t>(record, 10),
              field<std::uint16_t>(record, 4) == 0 && field<std::uint16_t>(record, 6) == 0};
  if (const auto wide = directory64(file, *end)) d = *wide;
  if (!d.one_disk) refuse_file(file.place(), "is one part of a zip of several");
  if (d.offset > *end || d.size > *end - d.offset)
    refuse_file(file.place(), "damaged: the zip's directory lies outside the file");
  if (d.size > kMaxDirectory) refuse_file(file.place(), fmt::format("bad directory: {} bytes long", d.size));
  return d;
}

/// Numbers too large for 32 bits are in extra field 1, in this order. False if one is missing.
bool take_zip64(ZipMember& m, const std::byte* extra, std::size_t length) {
  std::uint64_t* wide[] = {&m.size, &m.compressed, &m.header};
  const bool any = std::any_of(std::begin(wide), std::end(wide), [](auto* n) { return *n == 0xffffffff; });
  if (!any) return true;
  while (length >= 4) {
    const auto id = little_endian<std::uint16_t>(extra);
    const std::size_t size = little_endian<std::uint16_t>(extra + 2);
    if (size > length - 4) return false;
    if (id == 1) {
      std::size_t at = 0;
      for (std::uint64_t* n : wide)
        if (*n == 0xffffffff) {
          if (at + 8 > size) return false;
          *n = little_endian<std::uint64_t>(extra + 4 + at);
          at += 8;
        }
      return true;
    }
    extra += 4 + size;
    length -= 4 + size;
  }
  return false;
}

}  // namespace

ZipFile::ZipFile(FileBytes file) : file_(std::move(file)) {
  const Directory d = find_directory(file_);
  directory_ = d.offset;
  read_directory(part(file_, d.offset, d.size), d.entries);
}

void ZipFile::read_directory(const std::vector<std::byte>& bytes, std::uint64_t entries) {
  const auto damaged = [&] { refuse_file(place(), "damaged: the zip's directory can not be read"); };
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (bytes.size() - at < kEntry || field<std::uint32_t>(bytes, at) != kEntryMark) damaged();
    const std::size_t name = field<std::uint16_t>(bytes, at + 28),
                      extra = field<std::uint16_t>(bytes, at + 30),
                      comment = field<std::uint16_t>(bytes, at + 32);
    if (bytes.size() - at - kEntry < name + extra + comment) damaged();
    ZipMember m;
    m.flags = field<std::uint16_t>(bytes, at + 8);
    m.method = field<std::uint16_t>(bytes, at + 10);
    m.crc = field<std::uint32_t>(bytes, at + 16);
    m.compressed = field<std::uint32_t>(bytes, at + 20);
    m.size = field<std::uint32_t>(bytes, at + 24);
    m.header = field<std::uint32_t>(bytes, at + 42);
    at += kEntry;
    m.name.assign(reinterpret_cast<const char*>(bytes.data()) + at, name);
    if (!take_zip64(m, bytes.data() + at + name, extra)) damaged();
    at += name + extra + comment;
    members_.push_back(std::move(m));
  }
  if (members_.size() != entries) damaged();
}

namespace {

constexpr std::uint64_t kLocal = 30;  // size in bytes of the fixed part of a local header
constexpr std::uint32_t kLocalMark = 0x04034b50;
constexpr std::uint64_t kMostOfOne = 1032;  // deflate's largest expansion, by zlib's technical details
constexpr std::uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;

}  // namespace

// Raw deflate. The file is read one block at a time.
struct ZipMemberBytes::Inflater {
  Inflater() {
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::runtime_error("zlib does not start");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Writes up to n bytes; fewer only if the stream ends or is damaged.
  std::size_t get(FileBytes& file, std::byte* to, std::size_t n) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    std::size_t done = 0;
    while (done < n && state == Z_OK) {
      if (stream.avail_in == 0) {
        const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(block.size(), file.left()));
        file.read(block.data(), more);
        stream.next_in = reinterpret_cast<Bytef*>(block.data());
        stream.avail_in = static_cast<uInt>(more);
      }
      const auto room = static_cast<uInt>(std::min(n - done, kMost));
      stream.next_out = reinterpret_cast<Bytef*>(to + done);
      stream.avail_out = room;
      state = inflate(&stream, Z_NO_FLUSH);
      done += room - stream.avail_out;
    }
    return done;
  }
  bool ended(const FileBytes& file) const {
    return state == Z_STREAM_END && stream.avail_in == 0 && file.left() == 0;
  }

  z_stream stream = {};
  int state = Z_OK;
  std::array<std::byte, std::size_t{1} << 16> block;
};

ZipMemberBytes::ZipMemberBytes(ZipFile& zip, const ZipMember& m, const std::string& place)
    : ByteSource(place), file_(zip.file()), wanted_crc_(m.crc) {
  if (m.flags & kEncrypted) refuse_file(place, "is encrypted");
  if (m.method != kStored && m.method != kDeflated)
    refuse_file(place,
                fmt::format("is compressed by method {} (numpy.savez and savez_compressed write 0 and 8, "
                            "which are read)",
                            m.method));
  const std::uint64_t end = zip.directory();
  const auto outside = [&] { refuse_file(place, "damaged: it lies outside the zip's data"); };
  if (m.header > end || end - m.header < kLocal) outside();
  file_.window(m.header, kLocal);
  std::byte local[kLocal];
  file_.read(local, kLocal);
  if (little_endian<std::uint32_t>(local) != kLocalMark) refuse_file(place, "damaged: its header is missing");
  const std::uint64_t names =
      std::uint64_t{little_endian<std::uint16_t>(local + 26)} + little_endian<std::uint16_t>(local + 28);
  if (end - m.header - kLocal < names || end - m.header - kLocal - names < m.compressed) outside();
  if (m.method == kStored && m.compressed != m.size)
    refuse_file(place, fmt::format("damaged: {} bytes are stored as {}", m.size, m.compressed));
  if (m.method == kDeflated && m.size / kMostOfOne > m.compressed)
    refuse_file(place, fmt::format("damaged: {} bytes can not come of {}", m.size, m.compressed));
  file_.window(m.header + kLocal + names, m.compressed);
  if (m.method == kDeflated) inflater_ = std::make_unique<Inflater>();
  left_ = m.size;
}

ZipMemberBytes::~ZipMemberBytes() = default;

void ZipMemberBytes::get(std::byte* to, std::size_t n) {
  if (!inflater_) {
    file_.read(to, n);
  } else if (inflater_->get(file_, to, n) != n) {
    refuse_file(place(), "damaged: its compressed bytes can not be inflated to its size");
  }
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(to), n));
}

void ZipMemberBytes::finish() {
  if (left() != 0) throw std::logic_error("a member that was not read to its end");
  if (inflater_) {
    std::byte past;
    if (inflater_->get(file_, &past, 1) != 0 || !inflater_->ended(file_))
      refuse_file(place(), "damaged: its compressed bytes hold more than its size");
  }
  if (crc_ != wanted_crc_)
    refuse_file(place(),
                fmt::format("damaged: its CRC-32 is {:08x}, the zip says {:08x}", crc_, wanted_crc_));
}

}  // namespace assay
