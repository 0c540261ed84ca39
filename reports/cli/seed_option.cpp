// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/seed_option.hpp"

namespace assay {

CLI::Option* add_run_seed(CLI::App& command, RunSeed& seed, const std::string& what) {
  return add_whole(
      command, "--seed", seed.given,
      what + "; without it a fresh one is drawn, and printed, so that nobody knows the inputs before",
      {.hexadecimal = true});
}

}  // namespace assay
