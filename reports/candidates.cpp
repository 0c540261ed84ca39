#include "reports/candidates.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include "kernels/declaration.hpp"
#include "kernels/isolation/candidates.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Variant declared(Variant v, const std::string& text) {
  if (text.empty()) return v;
  apply_declaration(text, v);
  v.declared = true;
  return v;
}

bool is_library(const std::string& word) {
  const std::string path = word.substr(0, word.find('#'));
  return path.ends_with(".so") || path.find(".so.") != std::string::npos;
}

Candidate of_key(const Variant& v, const CandidateOptions& o) {
  return {declared(v, o.source.declare), v.key(), [v, o] {
            return declared(o.in_process ? v : isolated(v, {.timeout_seconds = o.timeout_seconds}),
                            o.source.declare);
          }};
}

}  // namespace

std::vector<Candidate> candidates_named(const std::string& word, const CandidateOptions& o) {
  std::vector<Candidate> found;
  if (is_source_file(word)) {
    for (const SourceCandidate& c : source_candidates(word, o.source, {.timeout_seconds = o.timeout_seconds}))
      found.push_back({c.variant, source_words(word, o.source), [c, o] {
                         Variant v = load_plugin(c.plugin, {.timeout_seconds = o.timeout_seconds}).at(0);
                         Variant own = c.variant;  // the claim and the names that the file's words gave it
                         own.launcher = v.launcher;
                         own.workspace_bytes = v.workspace_bytes;
                         return own;
                       }});
    return found;
  }
  if (is_library(word)) {
    for (const Variant& v : load_plugin(word, {.timeout_seconds = o.timeout_seconds}))
      found.push_back({declared(v, o.source.declare), v.origin, [origin = v.origin, o] {
                         return declared(load_plugin(origin, {.timeout_seconds = o.timeout_seconds}).at(0),
                                         o.source.declare);
                       }});
    return found;
  }
  for (const Variant& v : registry())
    if (fnmatch(word.c_str(), v.key().c_str(), 0) == 0) found.push_back(of_key(v, o));
  // What is linked in beside the registry goes by its full name alone.
  if (found.empty())
    if (const Variant* v = find_candidate(word)) found.push_back(of_key(*v, o));
  if (found.empty()) throw InputError(word + ": no such key (assay list names them all), and no .so file");
  return found;
}

Candidate candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                        const CandidateOptions& o) {
  for (Candidate& c : candidates_named(word, o))
    if ((key.empty() || c.variant.key() == key) && c.variant.does(op) && c.variant.dtype == dtype) return c;
  throw InputError(fmt::format("{}: has no kernel{} for {} of {}", word, key.empty() ? "" : " " + key,
                               name(op), name(dtype)));
}

}  // namespace assay
