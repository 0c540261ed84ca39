// SPDX-License-Identifier: Apache-2.0
// For tests of the fuzzer: finds the kernel with the planted fault that a test looks for.
#pragma once

#include <string>

#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"

namespace assay::fuzz {

/// The kernel with this fault, for example "sum_skips_tail". Throws InputError if there is none.
inline const Variant& mutant(const char* fault) {
  const Mutant* m = find_mutant_of(fault);
  if (!m) throw InputError(std::string(fault) + ": no such mutant");
  return m->variant;
}

}  // namespace assay::fuzz
