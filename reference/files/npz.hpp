// SPDX-License-Identifier: Apache-2.0
// NumPy .npz files, as numpy.savez and savez_compressed write them: a zip whose members NAME.npy are arrays.
#pragma once

#include <string>
#include <vector>

#include "reference/files/stored_array.hpp"
#include "reference/files/zip.hpp"

namespace assay {

class Npz {
 public:
  /// Throws InputError, also if the file holds no array.
  explicit Npz(FileBytes file);

  /// The names of the arrays, without ".npy".
  const std::vector<std::string>& names() const { return names_; }
  /// The array of names()[i]. Throws InputError.
  StoredArray read(std::size_t i);

 private:
  ZipFile zip_;
  std::vector<std::string> names_;
  std::vector<std::size_t> members_;  // index in the zip of each array of names_
};

}  // namespace assay
