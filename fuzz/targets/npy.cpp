// SPDX-License-Identifier: Apache-2.0
// .npy files, through a file in memory.
#include "reference/files/npy.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  static const int file = memfd_create("npy", 0);
  fuzz::require(file >= 0, "no file in memory");
  fuzz::require(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
                "not written");
  try {
    const Tensor t = read_npy("/proc/self/fd/" + std::to_string(file));
    fuzz::require(t.bytes.size() == static_cast<std::size_t>(t.rows * t.V) * size_of(t.dtype),
                  "a tensor of another size");
    fuzz::require(t.bytes.size() <= size, "more elements than bytes");
  } catch (const InputError& e) {
    fuzz::require_one_line(e);
  }
  return 0;
}
