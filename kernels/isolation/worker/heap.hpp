// SPDX-License-Identifier: Apache-2.0
// Guards the memory that a kernel allocates on the host with malloc or new. It replaces the allocation
// functions of the whole process, and without a watch they are those of the C library.
#pragma once

#include <string>

namespace assay::isolation {

/// While it lives, every block that any thread allocates gets guard bytes on both sides.
class HeapWatch {
 public:
  explicit HeapWatch(bool wanted);
  ~HeapWatch();
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;

  /// What was written outside a guarded block since the last call: "memory was written past the 40 bytes that
  /// malloc gave". Empty if nothing was. It looks at the blocks that are still allocated, and at those freed.
  static std::string overrun();

 private:
  const bool wanted_;
};

}  // namespace assay::isolation
