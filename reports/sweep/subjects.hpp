// What a sweep can time: every registered key, planted faults by name, and peers of this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

struct Subject {
  Variant variant;
  std::string role = "variant";  // or peer
  std::string missing = {};      // why a peer can not be called here
};

/// The registry's keys of every backend, then the peers, whether they can run here or not.
const std::vector<Subject>& sweep_subjects();

/// By key, planted faults ("mutant.no_rescale/f32@host") too; null if there is none.
const Subject* find_subject(std::string_view key);

}  // namespace assay
