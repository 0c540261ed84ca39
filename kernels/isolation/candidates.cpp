#include "kernels/isolation/candidates.hpp"

#include "kernels/mutants/mutants.hpp"

namespace assay {

const Variant* find_candidate(std::string_view key) {
  const Variant* const v = find_variant(key);
  return v ? v : find_mutant(key);
}

}  // namespace assay
