// Bytes one after another, of a file or of a part of one. How many there are is what the container says: a
// reader holds it against what is really there before it allocates for it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace assay {

/// Throws InputError: "x.npz: is encrypted". What a file says is shown without line breaks.
[[noreturn]] void refuse_file(const std::string& place, const std::string& reason);

/// Text of a file as it may stand in one line: control characters become '?', long text is cut.
std::string printable(std::string_view text);

/// "logits, probs, b"; of many names the first eight and "and 12 more".
std::string list_of_names(const std::vector<std::string>& names);

class ByteSource {
 public:
  explicit ByteSource(std::string place) : place_(std::move(place)) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// What error lines start with.
  const std::string& place() const { return place_; }
  /// Bytes that are to come.
  std::uint64_t left() const { return left_; }
  /// Exactly n bytes, n <= left(). Throws InputError where they can not be had.
  void read(std::byte* to, std::size_t n);
  /// The same; what is allocated never exceeds twice what has been read by more than 16 MiB.
  std::vector<std::byte> take(std::uint64_t n);

 protected:
  virtual void get(std::byte* to, std::size_t n) = 0;
  std::uint64_t left_ = 0;

 private:
  std::string place_;
};

class FileBytes final : public ByteSource {
 public:
  /// Throws InputError for what is no regular file or can not be read.
  explicit FileBytes(const std::filesystem::path& file);

  std::uint64_t size() const { return size_; }
  /// From here on these bytes are read; they lie in the file.
  void window(std::uint64_t offset, std::uint64_t length);

 private:
  void get(std::byte* to, std::size_t n) override;

  std::uint64_t size_ = 0;
  std::ifstream in_;
};

/// A little-endian number of a file.
template <class T>
T little_endian(const std::byte* at) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace assay
