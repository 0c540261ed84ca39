// assay selftest: judges planted faults, cheats and right kernels by the checks of this project and by the
// rules of other projects.
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

struct SelftestArguments {
  std::string key, out = "out/selftest";
  bool quick = false, list = false;
  int threads = 0;
};

void list() {
  for (const Mutant& m : mutants())
    fmt::print("{:<5} {:<6} {:<48} {}\n", m.id, name(m.kind), m.variant.key(), what_of(m.id));
}

int run_selftest_command(const SelftestArguments& o) {
  prepare_folder(o.out);
  SelftestOptions options;
  options.name = o.key;
  options.quick = o.quick;
  options.threads = o.threads;
  options.progress = [](std::int64_t done, std::int64_t planned) {
    if (done % 20 == 0 || done == planned) fmt::print(stderr, "{} of {} entries\n", done, planned);
  };
  const Selftest s = run_selftest(options);
  const std::filesystem::path out = o.out;
  write_files({{out / "selftest.jsonl", render_selftest_json_lines(s)},
               {out / "selftest.html", render_selftest_page(s)}});
  fmt::print("{}", render_selftest_terminal(s, std::filesystem::absolute(out / "selftest.html").string()));
  return selftest_passed(s) ? kPassed : kFailed;
}

}  // namespace

void add_selftest_command(CLI::App& app, int& status) {
  auto o = std::make_shared<SelftestArguments>();
  CLI::App* c =
      app.add_subcommand("selftest", "planted faults, cheats and right kernels against every check");
  c->add_option("--key", o->key, "one entry, by name, id or key (all)");
  add_out(*c, o->out, "folder for selftest.html and selftest.jsonl")->capture_default_str();
  c->add_flag("--quick", o->quick, "fewer rows for the rules of other projects");
  add_threads(*c, o->threads, "host threads (one per core)");
  c->add_flag("--list", o->list, "list the entries instead");
  c->callback([o, &status] {
    if (o->list)
      list();
    else
      status = run_selftest_command(*o);
  });
}

}  // namespace assay
