// assay list: every key, its claims, where it can run; with --families, every input family and why it is
// there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "kernels/device.hpp"
#include "reports/commands.hpp"
#include "reports/report.hpp"

namespace assay {
namespace {

void list_keys() {
  fmt::print("{:<32} {:<13} {:<14} {:<9} {:<12} {:<6} {:<9} {}\n", "key", "op", "algorithm", "exp",
             "division", "in", "accesses", "runs here");
  for (const Variant& v : registry()) {
    const KeyInfo k = key_info(v);
    fmt::print("{:<32} {:<13} {:<14} {:<9} {:<12} {:<6} {:<9} {}\n", k.key, k.op, k.algorithm, k.exp,
               k.division, k.internals, k.accesses, k.not_run.empty() ? "yes" : "no: " + k.not_run);
  }
  if (!built_with_cuda()) fmt::print("cuda keys are absent: this build has no CUDA side\n");
  fmt::print("{} keys\n", registry().size());
}

void list_families() {
  for (const Family& f : families()) fmt::print("{:<18} {}\n", f.name, f.why);
}

}  // namespace

void add_list_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand("list", "every key, its claims, where it can run");
  auto show_families = std::make_shared<bool>(false);
  c->add_flag("--families", *show_families, "list the input families instead");
  c->callback([show_families, &status] {
    if (*show_families)
      list_families();
    else
      list_keys();
    status = kPassed;
  });
}

}  // namespace assay
