// Kernels with one planted fault each. The suite must refuse every one of them, for the reason the mutant
// names; a mutant that survives fails the tests. They are compiled for the host only, into the tests only.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

struct Mutant {
  Variant variant;
  const char* fault = "";   // what is wrong, in words
  const char* family = "";  // an input family that must expose it
  std::int64_t V = 0;
  int k = 5;                // of top-k
  const char* check = "";  // the check that must fail there, perhaps among others
};

const std::vector<Mutant>& mutants();
bool register_mutant(Mutant m);

}  // namespace assay
