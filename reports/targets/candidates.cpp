// SPDX-License-Identifier: Apache-2.0
#include "reports/targets/candidates.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include "reference/error.hpp"

namespace assay {

std::vector<Target> candidates_named(const std::string& word, const CandidateOptions& o, bool dead) {
  TargetOptions targets{{}, o.source, o.timeout_seconds};
  for (const Variant& v : registry())
    if (fnmatch(word.c_str(), v.key().c_str(), 0) == 0) targets.words.push_back(v.key());
  if (targets.words.empty()) targets.words.push_back(word);
  std::vector<Target> found = resolve_targets(targets, dead);
  for (Target& t : found)
    if (o.in_process && t.variant.run) t.make = [v = t.variant] { return v; };
  return found;
}

Target candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                     const CandidateOptions& o) {
  for (Target& t : candidates_named(word, o))
    if ((key.empty() || t.variant.key() == key) && t.variant.does(op) && t.variant.dtype == dtype) return t;
  throw InputError(fmt::format("{}: has no kernel{} for {} of {}", word, key.empty() ? "" : " " + key,
                               name(op), name(dtype)));
}

}  // namespace assay
