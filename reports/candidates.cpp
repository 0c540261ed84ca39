#include "reports/candidates.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include "reference/error.hpp"

namespace assay {

std::vector<Variant> candidates_named(const std::string& word) {
  std::vector<Variant> found;
  for (const Variant& v : registry())
    if (fnmatch(word.c_str(), v.key().c_str(), 0) == 0) found.push_back(v);
  if (found.empty()) throw InputError(word + ": no such key; assay list names them all");
  return found;
}

Variant candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype) {
  for (const Variant& v : candidates_named(word))
    if ((key.empty() || v.key() == key) && v.does(op) && v.dtype == dtype) return v;
  throw InputError(fmt::format("{}: has no kernel{} for {} of {}", word, key.empty() ? "" : " " + key,
                               name(op), name(dtype)));
}

}  // namespace assay
