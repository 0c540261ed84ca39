// SPDX-License-Identifier: Apache-2.0
// Entries whose fault shows in no single case. They run in a worker process, through the group of `assay
// check` that the entry names.
#pragma once

#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {

/// The records of the group. Empty if the group cannot run here; then `reason` says why.
std::vector<Record> run_group(const Mutant& m, std::string& reason);

}  // namespace assay
