// SPDX-License-Identifier: Apache-2.0
// assay functions: tests exp, exp2, log and division of this machine on every argument.
#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "accuracy/functions/result_fields.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/data/say.hpp"

namespace assay {
namespace {

struct FunctionsArguments {
  FrameOptions run{.out = "out/functions"};
  std::vector<std::string> names;
  std::string backend, require;
  std::int64_t stride = 1;
  int threads = 0, device = 0;
  bool pairs = false, quotients = false;
};

std::vector<const functions::Function*> select(const FunctionsArguments& o) {
  std::vector<bool> used(o.names.size(), false);
  std::vector<const functions::Function*> out;
  for (const functions::Function& f : functions::functions()) {
    bool wanted = o.names.empty();
    for (std::size_t i = 0; i < o.names.size(); ++i)
      if (o.names[i] == f.name || fnmatch(o.names[i].c_str(), f.id().c_str(), 0) == 0)
        wanted = used[i] = true;
    if (wanted && (o.backend.empty() || o.backend == name(f.backend))) out.push_back(&f);
  }
  for (std::size_t i = 0; i < o.names.size(); ++i)
    if (!used[i]) {
      std::vector<std::string> known;
      for (const functions::Function& f : functions::functions()) known.push_back(f.name);
      throw InputError("--function " + o.names[i] +
                       ": no such function; assay functions --list names them all" +
                       did_you_mean(o.names[i], known));
    }
  if (out.empty()) throw InputError("--backend " + o.backend + ": none of these functions runs there");
  return out;
}

/// For programs: one test case a function, a variant on pairs, or the quotients.
VerdictDocument document_of(const FunctionsReport& r, int status) {
  VerdictDocument d;
  d.command = "functions";
  d.verdict = functions_word(r);
  d.exit_status = status;
  d.reason = functions_verdict(r);
  d.seconds = r.seconds;
  d.environment = r.environment;
  const auto add = [&](const std::string& key, const std::string& what, Status outcome,
                       const std::string& why, const std::string& words, std::int64_t stride) {
    VerdictCase c{.suite = key, .name = what, .outcome = outcome};
    if (c.outcome != Status::pass) c.message = why;
    if (c.outcome == Status::fail) {
      c.bad = 1;
      c.reproduce = "assay functions " + words;
      if (stride > 1) c.reproduce += fmt::format(" --stride {}", stride);
    }
    d.cases.push_back(std::move(c));
  };
  for (const FunctionResult& f : r.functions)
    add(f.id(), "arguments", f.status, f.reason, "--function " + shell_quoted(f.id()), f.stride);
  for (const PairResult& p : r.pairs)
    add(p.key, "pairs of f16 logits", p.status, p.reason, "--pairs", p.stride);
  if (r.quotients)
    add("quotients/f32@cuda", "pairs of mantissas", r.quotients->status, quotients_sentence(*r.quotients),
        "--quotients", 1);
  const StatusCounts n = count_outcomes(d.cases);
  d.counts = {{"planned", n.total()},
              {"run", n.executed()},
              {"passed", n[Status::pass]},
              {"failed", n[Status::fail]},
              {"not_run", n[Status::not_run]}};
  return d;
}

int run_functions_command(const FunctionsArguments& o) {
  RunFrame run(o.run);
  if (!o.backend.empty() && o.backend != "cuda" && o.backend != "host")
    throw InputError("--backend " + o.backend + ": must be cuda or host");
  choose_machine(o.require, o.device);
  if (o.stride < 1 || o.stride > std::int64_t{1} << 24)
    throw InputError(fmt::format("--stride {}: must be 1 to 16777216", o.stride));

  const auto selected = select(o);
  run.open_folder();
  run.open_journal();
  FunctionsReport r;
  r.environment = environment();
  // Each of them uses all threads.
  std::vector<RunUnit> units;
  for (const functions::Function* f : selected) units.push_back({.name = f->id(), .exclusive = true});
  r.functions = run.units<FunctionResult>(units, 1, [&](std::size_t i) {
    say("{} of {}: {}\n", i + 1, selected.size(), selected[i]->id());
    return measure(*selected[i], {o.stride, o.threads});
  });
  if (o.pairs)
    for (Backend backend : {Backend::cuda, Backend::host}) {
      if (!o.backend.empty() && o.backend != name(backend)) continue;
      // The executor computes thousands of rows a second, not a billion.
      const std::int64_t stride = on_host(backend) ? std::max(o.stride, kHostPairStride) : o.stride;
      const std::vector<const Variant*> variants = pair_variants(backend);
      units.clear();
      for (const Variant* v : variants) units.push_back({.name = "pairs " + v->key(), .exclusive = true});
      std::ranges::move(run.units<PairResult>(units, 1,
                                              [&](std::size_t i) {
                                                say("every pair: {}\n", variants[i]->key());
                                                return measure_pairs(*variants[i], stride, o.threads);
                                              }),
                        std::back_inserter(r.pairs));
    }
  if (o.quotients)
    r.quotients = run.units<QuotientSweep>({{.name = "quotients", .exclusive = true}}, 1,
                                           [&](std::size_t) {
                                             say("every quotient\n");
                                             return sweep_quotients(o.stride);
                                           })
                      .front();
  r.seconds = run.seconds();
  const int status = functions_passed(r) ? kPassed : functions_ran(r) ? kFailed : kEnvironment;
  run.finish({{"functions.json", render_functions_json(r)}, {"functions.html", render_functions_page(r)}},
             std::ssize(r.functions), status);
  tell("{}", render_functions_terminal(r, run.shown("functions.html")));
  return run.give(document_of(r, status));
}

}  // namespace

static void add_functions_command(CLI::App& app, int& status) {
  auto o = std::make_shared<FunctionsArguments>();
  auto list = std::make_shared<bool>(false);
  CLI::App* c =
      app.add_subcommand("functions", "check exp, exp2, log and division of this machine at every argument");
  c->add_option("--function", o->names, "names or name/dtype@backend; * and ? match (every function)");
  c->add_option("--backend", o->backend, "cuda or host (both)");
  add_whole(*c, "--stride", o->stride,
            "only every n-th argument: a sample, and labelled as one (1: exhaustive)");
  c->add_flag("--pairs", o->pairs,
              "also every pair of f16 logits as a two-element softmax (a sample on the host)");
  c->add_flag(
      "--quotients", o->quotients,
      "also every pair of f32 mantissas as a quotient by a row's shared divisor (GPU; 40 s on an H200)");
  add_frame_options(*c, o->run);
  add_out(*c, o->run.out, "folder for functions.json and functions.html")->capture_default_str();
  add_threads(*c, o->threads, "host threads (one per core)");
  add_device(*c, o->device);
  add_require(*c, o->require);
  c->add_flag("--list", *list, "list the functions instead, with the documented error of each");
  c->callback([o, list, &status] {
    if (!*list) {
      status = run_functions_command(*o);
      return;
    }
    refuse_answer(o->run.answer, "--list");
    for (const functions::Function& f : functions::functions())
      tell("{:<28} {:<55} {}\n", f.id(), f.declared().documented,
           f.missing.empty() ? "runs here" : f.missing);
    status = kPassed;
  });
}

const Command functions_command = {
    "functions",
    add_functions_command,
    {"0  no function is further off than declared", "1  one is", kBadCallText, kNoGpuText},
    {"assay functions --list", "assay functions --function 'exp*' --backend host --stride 65537"}};

}  // namespace assay
