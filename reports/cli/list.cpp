// SPDX-License-Identifier: Apache-2.0
// assay list: every key, its claims, and where it can run. With --families: every input family, which
// commands try it, and what it is for. With --ops: every operation, and what it writes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/device.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/say.hpp"
#include "reports/runs/report.hpp"

namespace assay {
namespace {

void list_keys() {
  tell("{:<32} {:<13} {:<14} {:<9} {:<12} {:<6} {:<9} {}\n", "key", "op", "algorithm", "exp", "division",
       "in", "accesses", "runs here");
  for (const Variant& v : registry()) {
    const KeyInfo k = key_info(v);
    tell("{:<32} {:<13} {:<14} {:<9} {:<12} {:<6} {:<9} {}\n", k.key, k.op, k.algorithm, k.exp, k.division,
         k.internals, k.accesses, k.not_run.empty() ? "yes" : "no: " + k.not_run);
  }
  if (!built_with_cuda()) tell("cuda keys are absent: this build has no CUDA side\n");
  tell("{} keys\n", registry().size());
}

/// The commands that try the family if no --family is given.
std::string tried_by(const Family& f) {
  return f.group ? fmt::format("check ({})", f.group) : "every command";
}

/// The dtypes and row lengths for which the family has rows.
std::string rows_there(const Family& f) {
  std::string dtypes;
  bool all = true;
  for (const Dtype t : kJudged) {
    const bool has = applies(f, t, 1);
    all = all && has;
    if (has) dtypes += (dtypes.empty() ? "" : ", ") + std::string(name(t));
  }
  const std::int64_t longest = longest_row(f);
  return (all ? "every dtype" : dtypes) +
         (longest < std::numeric_limits<std::int64_t>::max() ? fmt::format(", V to {}", longest) : "");
}

void list_families() {
  tell("{:<18} {:<16} {:<23} {}\n", "family", "tried by", "rows of", "what it holds");
  for (const Family& f : all_families())
    tell("{:<18} {:<16} {:<23} {}\n", f.name, tried_by(f), rows_there(f), f.why);
  tell("{:<18} {:<16} {:<23} {}\n", kProbeFamily, "report, check", "every dtype", kProbeWhy);
  tell(
      "{} families. Every op takes every family, and every --family takes every name. Only the rows of "
      "{}\ndepend on the kernel's outputs, so only report and check take it.\n",
      all_families().size() + 1, kProbeFamily);
}

void list_ops() {
  tell("{:<18} {}\n", "op", "values of a row");
  for (const OpInfo& o : kOpTable) tell("{:<18} {}\n", o.name, o.written);
  tell("{} operations\n", std::size(kOpTable));
}

}  // namespace

static void add_list_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand("list", "every key, its claims, where it can run");
  auto show_families = std::make_shared<bool>(false);
  c->add_flag("--families", *show_families, "list the input families instead");
  auto show_ops = std::make_shared<bool>(false);
  c->add_flag("--ops", *show_ops, "list the operations instead");
  c->callback([show_families, show_ops, &status] {
    if (*show_families)
      list_families();
    else if (*show_ops)
      list_ops();
    else
      list_keys();
    status = kPassed;
  });
}

const Command list_command = {
    "list", add_list_command, {"0  listed", kBadCallText}, {"assay list", "assay list --families"}};

}  // namespace assay
