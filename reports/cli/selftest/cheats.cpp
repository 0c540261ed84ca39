// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/selftest/cheats.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/shared/plain_text.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cheats/cheats.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Tried {
  const cheats::Cheat* cheat = nullptr;
  cheats::Guard guard{};
  cheats::Verdict verdict;
};

const char* word_of(const cheats::Verdict& v) {
  return v.outcome == Status::pass ? "as expected" : v.outcome == Status::fail ? "OTHERWISE" : "not run";
}

std::vector<const cheats::Cheat*> chosen(const std::string& name) {
  std::vector<const cheats::Cheat*> some;
  std::vector<std::string> known;
  for (const cheats::Cheat& c : cheats::all()) {
    if (name.empty() || c.name == name) some.push_back(&c);
    known.push_back(c.name);
  }
  if (some.empty())
    throw InputError("--key " + name + ": no such cheat; assay selftest --cheats --list names them all" +
                     did_you_mean(name, known));
  return some;
}

VerdictDocument document_of(const std::vector<Tried>& all, double seconds) {
  VerdictDocument d;
  d.command = "selftest --cheats";
  d.seconds = seconds;
  d.environment = environment();
  std::int64_t as_expected = 0, otherwise = 0, not_run = 0;
  for (const Tried& t : all) {
    VerdictCase c{.suite = cheats::name(t.guard), .name = t.cheat->name};
    c.outcome = t.verdict.outcome;
    c.message = t.verdict.why;
    if (c.outcome == Status::fail) {
      c.bad = 1;
      c.reproduce = "assay selftest --cheats --key " + shell_quoted(t.cheat->name);
    }
    as_expected += c.outcome == Status::pass;
    otherwise += c.outcome == Status::fail;
    not_run += c.outcome == Status::not_run;
    d.cases.push_back(std::move(c));
  }
  d.counts = {{"as_expected", as_expected}, {"otherwise", otherwise}, {"not_run", not_run}};
  d.verdict = otherwise > 0     ? name(Verdict::fail)
              : as_expected > 0 ? name(Verdict::pass)
                                : name(Verdict::not_run);
  d.exit_status = otherwise > 0 ? kFailed : as_expected > 0 ? kPassed : kEnvironment;
  d.reason = fmt::format("{} cheats got the answer that was expected, {} another one, {} did not run",
                         as_expected, otherwise, not_run);
  return d;
}

std::string json_lines(const std::vector<Tried>& all) {
  std::string text;
  for (const Tried& t : all)
    text += nlohmann::json{{"cheat", t.cheat->name},         {"what", t.cheat->what},
                           {"guard", cheats::name(t.guard)}, {"outcome", word_of(t.verdict)},
                           {"why", t.verdict.why},           {"command", t.verdict.command},
                           {"seconds", t.verdict.seconds}}
                .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
            "\n";
  return text;
}

}  // namespace

void list_cheats() {
  for (const cheats::Cheat& c : cheats::all()) fmt::print("{:<24} {}\n", c.name, c.what);
}

int run_cheats_command(const std::string& name, const FrameOptions& options) {
  RunFrame run(options);
  const std::vector<const cheats::Cheat*> some = chosen(name);
  const fs::path scratch = run.open_folder() / "cheats";
  std::vector<Tried> all;
  for (const cheats::Cheat* const c : some)
    for (const cheats::Guard guard : cheats::guards(*c)) {
      const fs::path folder = scratch / cheats::name(guard) / c->name;
      fs::remove_all(folder);
      all.push_back({c, guard, cheats::run(*c, guard, {{}, folder})});
      const Tried& t = all.back();
      fmt::print("{:<11} {:<11} {:<24} {:6.1f} s  {}\n", word_of(t.verdict), cheats::name(guard), c->name,
                 t.verdict.seconds,
                 t.verdict.outcome == Status::pass ? c->what : isolation::plain_text(t.verdict.why));
      std::fflush(stdout);
      if (t.verdict.outcome == Status::pass) fs::remove_all(folder);
    }
  VerdictDocument d = document_of(all, run.seconds());
  run.finish({{"cheats.jsonl", json_lines(all)}}, std::ssize(all), d.exit_status);
  fmt::print("{}: {}\n", d.verdict, d.reason);
  return run.give(std::move(d));
}

}  // namespace assay
