#include "reports/check_targets.hpp"

#include "reference/error.hpp"

namespace assay {

std::vector<Target> resolve_targets(const TargetOptions& options) {
  std::vector<Target> targets;
  for (const std::string& word : options.words) {
    const Variant* v = find_variant(word);
    if (!v) throw InputError(word + ": no such key (assay list names them all)");
    targets.push_back({*v, word, [v] { return *v; }});
  }
  return targets;
}

}  // namespace assay
