// What `assay check` can judge: a registered key, a plugin, source files that become a plugin, or a Python
// callable.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reports/targets/source_candidates.hpp"

namespace assay {

struct TargetOptions {
  std::vector<std::string> words;  // KEY, PLUGIN.so[#name], FILE.cu, FILE.py:FUNCTION ...
  SourceOptions source;            // --entry and related options; --declare for all of them
  double timeout_seconds = 20;
};

struct Target {
  Variant variant;
  std::string words;              // as written in a reproduce line
  std::function<Variant()> make;  // makes the variant, with a worker of its own
};

/// Throws InputError for a word that is no key, and for what cannot be loaded or compiled.
std::vector<Target> resolve_targets(const TargetOptions& options);

}  // namespace assay
