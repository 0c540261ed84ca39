#include "kernels/isolation/candidates.hpp"

#include <vector>

namespace assay {
namespace {
std::vector<CandidateSource>& sources() {
  static std::vector<CandidateSource> all;
  return all;
}
}  // namespace

bool add_candidate_source(CandidateSource source) {
  sources().push_back(source);
  return true;
}

const Variant* find_candidate(std::string_view key) {
  if (const Variant* v = find_variant(key)) return v;
  for (const CandidateSource source : sources())
    if (const Variant* v = source(key)) return v;
  return nullptr;
}

}  // namespace assay
