// SPDX-License-Identifier: Apache-2.0
// What a sweep can time: every registered key, planted faults by name, and peers in this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

struct Subject {
  Variant variant;
  std::string role = "variant";  // "variant" or "peer"
  std::string missing = {};      // why a peer cannot be called here
};

/// The registry's keys of every backend, then the peers, whether or not they can run here.
const std::vector<Subject>& sweep_subjects();

/// Finds by key, also planted faults ("mutant.no_rescale/f32@host"); null if there is none.
const Subject* find_subject(std::string_view key);

}  // namespace assay
