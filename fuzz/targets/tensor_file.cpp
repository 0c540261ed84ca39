// SPDX-License-Identifier: Apache-2.0
// .npy, .npz and .safetensors files through tensor_file.hpp, with the file in memory.
#include "reference/files/tensor_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  static const int file = memfd_create("tensor_file", 0);
  fuzz::require(file >= 0, "no file in memory");
  fuzz::require(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                "not written");
  const std::string where = "/proc/self/fd/" + std::to_string(file);
  try {
    const StoredArray a = read_stored(where, "logits");
    fuzz::require(a.bytes.size() == static_cast<std::size_t>(a.rows * a.columns) * size_of(a.type),
                  "an array of another size");
    // Deflate expands one byte to at most 1032.
    fuzz::require(a.bytes.size() <= 1032 * size, "more elements than bytes");
  } catch (const InputError& e) {
    fuzz::require_one_line(e);
  }
  return 0;
}
