// SPDX-License-Identifier: Apache-2.0
// .npy files.
#include "reference/files/npy.hpp"

#include "fuzz/targets/target.hpp"
#include "reference/files/tensor_file.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    FileBytes file("file", fuzz::bytes_of(data, size));
    const Tensor t = tensor_of(read_npy_array(file), Bf16::refused);
    fuzz::require(t.bytes.size() == static_cast<std::size_t>(t.rows * t.V) * size_of(t.dtype),
                  "a tensor of another size");
    fuzz::require(t.bytes.size() <= size, "more elements than bytes");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
