// .safetensors files: eight bytes that say how long the header is, a JSON header that says of every tensor
// its dtype, shape and place, and the tensors one after another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reference/files/byte_source.hpp"
#include "reference/files/stored_array.hpp"

namespace assay {

class Safetensors {
 public:
  /// Reads the header and holds every place against the file. Throws InputError.
  explicit Safetensors(const std::filesystem::path& file);

  const std::vector<std::string>& names() const { return names_; }
  /// The tensor of names()[i]. Throws InputError.
  StoredArray read(std::size_t i);

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;  // in the data
  };
  void parse(const std::string& header);
  void check_places() const;

  FileBytes file_;
  std::uint64_t data_ = 0;  // where it begins
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
};

}  // namespace assay
