// SPDX-License-Identifier: Apache-2.0
// --seed of a run that draws a seed where none is given (reports/out/run_seed.hpp).
#pragma once

#include <string>

#include "reports/cli/options.hpp"
#include "reports/out/run_seed.hpp"

namespace assay {

CLI::Option* add_run_seed(CLI::App& command, RunSeed& seed, const std::string& what = "seed of the inputs");

}  // namespace assay
