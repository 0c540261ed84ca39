// SPDX-License-Identifier: Apache-2.0
// assay sweep rules: by which rules a sweep times, as one line of JSON. reports/sweep/peers.py reads it.
#include "reports/sweep/rig/rules.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "reports/cli/commands.hpp"

namespace assay {

static void add_sweep_rules(CLI::App& sweep, int& status) {
  CLI::App* c = sweep.add_subcommand(
      "rules", "by which rules launches are timed, as JSON: for peers.py and write_goals.py");
  c->callback([&status] {
    fmt::print("{}\n", timing_rules_json());
    status = kPassed;
  });
}

const Command sweep_rules_command = {"sweep rules",
                                     add_sweep_rules,
                                     {"0  printed", kBadCallText},
                                     {"assay sweep rules", "assay sweep rules > rules.json"}};

}  // namespace assay
