// SPDX-License-Identifier: Apache-2.0
// .npy, .npz and .safetensors files through tensor_file.hpp.
#include "reference/files/tensor_file.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const StoredArray a = read_stored(FileBytes("file", fuzz::bytes_of(data, size)), "", "logits");
    fuzz::require(a.bytes.size() == static_cast<std::size_t>(a.rows * a.columns) * size_of(a.type),
                  "an array of another size");
    // Deflate expands one byte to at most 1032.
    fuzz::require(a.bytes.size() <= 1032 * size, "more elements than bytes");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
