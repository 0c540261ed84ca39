// SPDX-License-Identifier: Apache-2.0
#include "reference/files/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "reference/error.hpp"

namespace assay {

void refuse_file(const std::string& place, const std::string& reason) {
  throw InputError(place + ": " + reason);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text.size() > kMost ? shown + "..." : shown;
}

std::string list_of_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    list += (i ? ", " : "") + printable(names[i]);
  if (names.size() > kMost) list += fmt::format(" and {} more", names.size() - kMost);
  return list;
}

void ByteSource::read(std::byte* to, std::size_t n) {
  if (n > left_) throw std::logic_error("more bytes asked for than there are");
  get(to, n);
  left_ -= n;
}

std::vector<std::byte> ByteSource::take(std::uint64_t n) {
  constexpr std::uint64_t kFirst = std::uint64_t{16} << 20;
  std::vector<std::byte> all;
  while (all.size() < n) {
    const std::size_t have = all.size();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(n - have, std::max(kFirst, have)));
    all.resize(have + more);
    read(all.data() + have, more);
  }
  return all;
}

FileBytes::FileBytes(const std::filesystem::path& file) : ByteSource(file.string()) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) refuse_file(place(), "no such file");
  if (std::filesystem::is_directory(status)) refuse_file(place(), "is a directory");
  if (!std::filesystem::is_regular_file(status)) refuse_file(place(), "is not a regular file");
  size_ = std::filesystem::file_size(file, error);
  in_.emplace(file, std::ios::binary);
  if (error || !*in_) refuse_file(place(), "cannot be read");
  left_ = end_ = size_;
}

FileBytes::FileBytes(std::string place, std::span<const std::byte> bytes)
    : ByteSource(std::move(place)), size_(bytes.size()), end_(bytes.size()), held_(bytes) {
  left_ = size_;
}

void FileBytes::window(std::uint64_t offset, std::uint64_t length) {
  if (offset > size_ || length > size_ - offset) throw std::logic_error("a window outside the file");
  if (in_) {
    in_->clear();
    in_->seekg(static_cast<std::streamoff>(offset));
  }
  end_ = offset + length;
  left_ = length;
}

void FileBytes::get(std::byte* to, std::size_t n) {
  if (!in_) {
    std::ranges::copy(held_.subspan(static_cast<std::size_t>(end_ - left_), n), to);
    return;
  }
  in_->read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(n));
  if (static_cast<std::size_t>(in_->gcount()) != n)
    refuse_file(place(), fmt::format("expected {} bytes of data, read {}", n, in_->gcount()));
}

}  // namespace assay
