// SPDX-License-Identifier: Apache-2.0
// The directory of a zip. For the fields see PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3.
#include "reference/files/zip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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

}  // namespace assay
