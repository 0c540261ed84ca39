// SPDX-License-Identifier: Apache-2.0
// assay merge: puts the parts of a run with --shard into one folder, and says the verdict on the whole.
#include "reports/merge/merge.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>

#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/pages.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/records/about.hpp"

namespace assay {
namespace {

struct MergeArguments {
  FrameOptions run;
  std::vector<std::string> folders;
};

/// How much an exit status weighs: a part that could not run weighs more than one with limits that nobody
/// declared, although its number is smaller.
int weight(int status) {
  constexpr int kFromLight[] = {kPassed, kUndeclaredLimits, kEnvironment, kFailed, kBadCall};
  return static_cast<int>(std::find(std::begin(kFromLight), std::end(kFromLight), status) - kFromLight);
}

int heaviest(const std::vector<int>& statuses) {
  return *std::max_element(statuses.begin(), statuses.end(),
                           [](int a, int b) { return weight(a) < weight(b); });
}

/// The verdict on the records, or what the parts themselves ended with where every record passed. `whole`:
/// that of a check or a report.
int merged_status(const Merged& m, std::optional<Verdict> whole) {
  if (m.n.bad() > 0) return kFailed;
  if (m.n[Status::pass] == 0 && !m.search) return kEnvironment;
  const int status = heaviest(m.statuses);
  if (!whole || status == kFailed || status == kBadCall) return status;
  if (*whole == Verdict::not_covered) return kFailed;
  if (*whole != Verdict::pass && *whole != Verdict::judged_in_part) return kEnvironment;
  // Everything ran and something was judged, so a part of which nothing could be judged is no reason.
  std::vector<int> others = m.statuses;
  const bool in_part = *whole == Verdict::judged_in_part;
  std::replace(others.begin(), others.end(), kEnvironment, in_part ? kUndeclaredLimits : kPassed);
  return heaviest(others);
}

/// True of a run in which everything is right; kUndeclaredLimits asks only whether its limits are accepted.
bool is_right(int status) { return status == kPassed || status == kUndeclaredLimits; }

/// For programs: one test case a part.
VerdictDocument document_of(const Merged& m, const std::string& verdict, int status) {
  VerdictDocument d;
  d.command = "merge";
  d.verdict = verdict;
  d.exit_status = status;
  // A search keeps records only of what it found.
  d.reason = fmt::format("{} shards of assay {}: ", m.statuses.size(), m.verb);
  d.reason += m.search ? fmt::format("{} inputs that fail were found", m.n.bad())
                       : fmt::format("{} records, {} run, {} failed", m.n.total(), m.n.executed(), m.n.bad());
  d.environment = environment();
  d.counts = {{"shards", std::ssize(m.statuses)},
              {"records", m.n.total()},
              {"run", m.n.executed()},
              {"passed", m.n[Status::pass]},
              {"failed", m.n.bad()}};
  for (std::size_t i = 0; i < m.statuses.size(); ++i) {
    VerdictCase c{.suite = "assay " + m.verb, .name = fmt::format("shard {}/{}", i, m.statuses.size())};
    if (!is_right(m.statuses[i])) {
      c.outcome = Status::fail;
      c.bad = 1;
      c.message = fmt::format("ended with status {}", m.statuses[i]);
      c.reproduce = m.first;
    }
    d.cases.push_back(std::move(c));
  }
  return d;
}

VerdictDocument document_of(const MissingParts& missing) {
  VerdictDocument d;
  d.command = "merge";
  d.verdict = name(Verdict::incomplete);
  d.exit_status = kEnvironment;
  d.reason = fmt::format("{} of {} shards are not there; nothing was merged", missing.missing, missing.count);
  d.environment = environment();
  d.counts = {{"shards", missing.count}, {"missing", missing.missing}};
  return d;
}

int run_merge_command(const MergeArguments& o) {
  RunFrame run(o.run);
  const std::filesystem::path& out = run.open_folder();
  const std::vector<std::filesystem::path> folders(o.folders.begin(), o.folders.end());
  Merged m;
  try {
    m = merge_parts(folders, out);
  } catch (const MissingParts& missing) {
    say("assay: merge: {} of {} shards are not there; nothing was merged\n{}", missing.missing, missing.count,
        missing.text);
    return run.give(document_of(missing));
  }
  std::optional<Verdict> verdict;
  std::string why;
  // The folder may hold facts of other runs, too.
  const FolderPages pages = m.search ? FolderPages() : make_pages(out, 0, m.files.front());
  if (pages.run && std::find(m.files.begin(), m.files.end(), kAboutFile) != m.files.end()) {
    const Digest& whole = pages.run->digest();
    verdict = verdict_of(whole);
    if (*verdict == Verdict::incomplete || *verdict == Verdict::judged_in_part ||
        *verdict == Verdict::not_covered)
      why = verdict_reason(whole);
  }
  const int status = merged_status(m, verdict);
  const bool in_part = m.in_part || verdict == Verdict::judged_in_part,
             unjudged = verdict == Verdict::not_judged;
  VerdictDocument d = document_of(m,
                                  is_right(status) && in_part          ? name(Verdict::judged_in_part)
                                  : is_right(status)                   ? name(Verdict::pass)
                                  : verdict == Verdict::not_covered    ? name(Verdict::not_covered)
                                  : status == kFailed                  ? name(Verdict::fail)
                                  : status == kEnvironment && unjudged ? name(Verdict::not_judged)
                                  : m.n[Status::pass] == 0             ? "NOTHING JUDGED"
                                                                       : name(Verdict::incomplete),
                                  status);
  if (!why.empty()) d.reason += ": " + why;
  const bool limited = status == kUndeclaredLimits && !in_part;
  tell("{}{}: {}\n", d.verdict, limited ? " within limits that nobody declared" : "", d.reason);
  if (limited) d.reason += ": right within limits that nobody declared; contract.json has them";
  if (!m.first.empty()) tell("the first: {}\n", m.first);
  for (std::size_t i = 0; i < m.statuses.size(); ++i)
    if (m.statuses[i] > kFailed && !is_right(m.statuses[i]))
      tell("shard {}/{} ended with status {}\n", i, m.statuses.size(), m.statuses[i]);
  for (const std::string& name : m.files) tell("{}\n", (out / name).string());
  run.wrote(m.files);
  return run.give(d);
}

}  // namespace

static void add_merge_command(CLI::App& app, int& status) {
  auto o = std::make_shared<MergeArguments>();
  CLI::App* c = app.add_subcommand("merge", "put the parts of a run with --shard into one folder");
  c->add_option("folders", o->folders, "the parts, or the folders that hold them: the --out of the parts")
      ->required();
  add_answer_options(*c, o->run.answer);
  add_out(*c, o->run.out, "folder for the records of the whole run, and what belongs to them")->required();
  c->callback([o, &status] { status = run_merge_command(*o); });
}

const Command merge_command = {
    "merge",
    add_merge_command,
    {"0  every part is there and passed", "1  a part failed", kBadCallText,
     "3  a part is missing, or nothing was judged",
     "4  right within limits that nobody declared: contract.json has them"},
    {"assay merge out/parts --out out/whole", "assay merge out/a out/b --out out/whole"}};

}  // namespace assay
