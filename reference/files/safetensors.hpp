// SPDX-License-Identifier: Apache-2.0
// .safetensors files: eight bytes with the length of the header, a JSON header with the dtype, shape and
// place of each tensor, then the data of the tensors.
#pragma once

#include <string>
#include <vector>

#include "reference/files/byte_source.hpp"
#include "reference/files/stored_array.hpp"

namespace assay {

class Safetensors {
 public:
  /// Reads the header and checks every place against the size of the file. Throws InputError.
  explicit Safetensors(FileBytes file);

  const std::vector<std::string>& names() const { return names_; }
  /// The tensor of names()[i]. Throws InputError.
  StoredArray read(std::size_t i);

 private:
  struct Entry {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0, end = 0;  // byte range in the data
  };
  void parse(const std::string& header);
  void check_places() const;

  FileBytes file_;
  std::uint64_t data_ = 0;  // offset in the file where the data begins
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
};

}  // namespace assay
