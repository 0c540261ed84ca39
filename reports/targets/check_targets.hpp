// What `assay check` is asked to judge: a registered key, a plugin, source files that become one, or a Python
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
  SourceOptions source;            // --entry and its like; --declare for all of them
  double timeout_seconds = 20;
};

struct Target {
  Variant variant;
  std::string words;              // as they stand in a reproduce line
  std::function<Variant()> make;  // the variant with a worker of its own
};

/// Throws InputError for what is no key, can not be loaded, or can not be compiled.
std::vector<Target> resolve_targets(const TargetOptions& options);

}  // namespace assay
