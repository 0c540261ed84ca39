// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "reference/files/zip.hpp"

namespace assay {
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
