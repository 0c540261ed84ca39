// For tests of the fuzzer: the planted fault that they look for.
#pragma once

#include <string>

#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"

namespace assay::fuzz {

/// mutant("sum_skips_tail") is the kernel with that fault. Throws InputError where there is none.
inline const Variant& mutant(const std::string& fault) {
  const Mutant* m = find_mutant_of(fault);
  if (!m) throw InputError(fault + ": no such mutant");
  return m->variant;
}

}  // namespace assay::fuzz
