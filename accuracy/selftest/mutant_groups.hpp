// Entries whose fault no single case shows: they run in a worker process, through the group of `assay check`
// that their entry names.
#pragma once

#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {

/// Empty, and why in `reason`, where the group can not run here.
std::vector<Record> run_group(const Mutant& m, std::string& reason);

}  // namespace assay
