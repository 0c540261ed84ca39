// Groups that run this program again under another tool: compute-sanitizer on a GPU, ThreadSanitizer for
// kernels on the host executor. The child checks a small set of cases of the same target; the tool's word is
// the record.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/status.hpp"
#include "reference/error.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/targets/source_candidates.hpp"

namespace assay {
namespace {

using conformance::Bench;
using conformance::ConformanceCase;

/// What a child prints when a tool has something to say; no status of ours.
constexpr int kToolFound = 86;

struct Ran {
  int status = -1;  // of the shell
  std::string output;
};

Ran shell(const std::string& command) {
  Ran ran;
  FILE* out = popen((command + " 2>&1").c_str(), "r");
  if (!out) return ran;
  std::array<char, 4096> some;
  while (const std::size_t n = std::fread(some.data(), 1, some.size(), out))
    ran.output.append(some.data(), n);
  const int status = pclose(out);
  if (WIFEXITED(status)) ran.status = WEXITSTATUS(status);
  return ran;
}

/// This program, or the one that $ASSAY_WORKER names where this one is a test.
std::string own_path() {
  if (const char* worker = std::getenv("ASSAY_WORKER")) return worker;
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string child_command(const Bench& bench, const std::string& groups) {
  const std::string out =
      (std::filesystem::temp_directory_path() / fmt::format("assay-check-{}", getpid())).string();
  // The GPU is this process's, and the child works for it: it must not wait for it.
  return fmt::format(
      "timeout 600 '{}' check {} {} --quick --shared --threads 1 --timeout 120 --seed {} --out '{}'",
      own_path(), bench.options().target, groups, bench.seed(), out);
}

/// A case of a registered key, launched by the process that fills its buffers.
std::string in_process_command(const Bench& bench) {
  const std::string out =
      (std::filesystem::temp_directory_path() / fmt::format("assay-check-{}", getpid())).string();
  return fmt::format(
      "timeout 600 '{}' report --key {} --family row_encoded --V 33 --rows 3 --threads 1 --out '{}'",
      own_path(), bench.variant().key(), out);
}

/// The first line of the output that has any of the words.
std::string line_with(const std::string& output, std::initializer_list<const char*> words) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    for (const char* word : words)
      if (line.find(word) != std::string::npos) return line;
  return {};
}

/// `timeout` ends a child that goes on for too long by the clock with this status, the shell's `ulimit -t`
/// one that goes on for too long by its own processor time with that.
constexpr int kTimedOut = 124, kOutOfTime = 128 + SIGXCPU;
bool out_of_time(const Ran& ran) { return ran.status == kTimedOut || ran.status == kOutOfTime; }

/// `found`: what the tool itself has to say. A child that ended badly without a word of it shows a fault of
/// the launch, not the one that the tool looks for.
void judge(Record& r, const Ran& ran, Check tool, const std::string& found) {
  r.rows_judged = 1;
  conformance::require(r, tool, found.empty(), found);
  const std::string dead = line_with(ran.output, {"ERROR: ThreadSanitizer:"});
  const FaultKind cause = out_of_time(ran)                         ? FaultKind::no_answer
                          : dead.find("SEGV") != std::string::npos ? FaultKind::wild_access
                          : dead.find("BUS") != std::string::npos  ? FaultKind::wild_access
                          : dead.find("ILL") != std::string::npos  ? FaultKind::misaligned
                                                                   : FaultKind::tool_failed;
  const std::string line =
      !dead.empty() ? dead : line_with(ran.output, {"FAIL", "assay:", "Error", "error", "status"});
  conformance::require(r, Check::launch, ran.status == 0 || !found.empty(),
                       out_of_time(ran) ? std::string("the child did not end in time")
                                        : fmt::format("the child ended with status {}: {}", ran.status, line),
                       cause);
  conformance::settle(r);
}

/// The child under one of compute-sanitizer's tools. `found`: the first thing that the tool says is wrong.
Ran sanitized(const std::string& tool, const std::string& child, std::string& found) {
  Ran ran = shell(fmt::format("compute-sanitizer --tool {} --target-processes all --error-exitcode {} {}",
                              tool, kToolFound, child));
  // A hazard of equal values is a warning at most, and no result can show it.
  const bool clean = ran.output.find("ERROR SUMMARY: 0 errors") != std::string::npos ||
                     (ran.output.find("RACECHECK SUMMARY: ") != std::string::npos &&
                      ran.output.find("(0 errors") != std::string::npos) ||
                     ran.output.find("RACECHECK SUMMARY: 0 hazards") != std::string::npos;
  if (!clean || ran.status == kToolFound)
    found = line_with(ran.output, {"========= Invalid", "========= Error", "========= Warning", "hazard",
                                   "Uninitialized", "Barrier error", "ERROR SUMMARY: "});
  return ran;
}

void run_sanitizer(Bench& bench, const std::vector<ConformanceCase>& cases) {
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    const std::string& tool = cases[i].setup;
    if (on_host(bench.variant().backend)) {
      bench.emit(i, bench.unsupported(cases[i], "sanitize: the kernel has no device code"));
      continue;
    }
    if (const std::string why = sanitizer_missing(); !why.empty()) {
      bench.emit(i, bench.unsupported(cases[i], "sanitize: " + why));
      continue;
    }
    // A worker's buffers are filled by the supervisor, which the tool does not see.
    const bool unseen = tool == "initcheck";
    if (unseen && !find_variant(bench.variant().key())) {
      bench.emit(i, bench.unsupported(cases[i], "initcheck: buffers shared with another process"));
      continue;
    }
    std::string found;
    const Ran ran = sanitized(
        tool, unseen ? in_process_command(bench) : child_command(bench, "--only layout --V 33"), found);
    Record r = bench.blank(cases[i]);
    judge(r, ran, *parse_check(tool), found);
    bench.emit(i, std::move(r));
  }
}

std::vector<conformance::Unit> plan_sanitize(const conformance::Planning& p) {
  conformance::Unit u;
  for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"})
    u.cases.push_back({"row_encoded", 33, 3, p.variant.op, 0, tool});
  u.run = run_sanitizer;
  u.weight = 1e10;
  u.exclusive = true;
  return {std::move(u)};
}

/// Processor time for a few short rows under ThreadSanitizer; right kernels take a few seconds.
constexpr int kRaceSeconds = 60;

/// A source file for the executor is compiled once more, with ThreadSanitizer around the kernel.
void run_race_checker(Bench& bench, const ConformanceCase& c, const OneFile& file) {
  std::string program;
  try {
    program = build_race_checker(file);
  } catch (const InputError& e) {
    bench.emit(0, bench.unsupported(c, std::string("races: ") + e.what()));
    return;
  }
  std::string sizes = fmt::format(" {}", conformance::nearest_rows(bench.variant().limits, 3));
  // Squares of 1024 take ThreadSanitizer too long.
  const std::int64_t longest = bench.variant().claim.causal == Causal::no ? 1024 : 257;
  for (const std::int64_t usual :
       {std::int64_t{1}, std::int64_t{32}, std::int64_t{64}, std::int64_t{100}, longest})
    if (const std::int64_t V = conformance::nearest_V(bench.variant().limits, usual); V > 0)
      sizes += fmt::format(" {}", V);
  // An endless loop uses up its time; on a machine that has none for it nothing is shown.
  const Ran ran = shell(fmt::format("ulimit -t {}; setarch \"$(uname -m)\" -R timeout 600 '{}'{}",
                                    kRaceSeconds, program, sizes));
  if (ran.status == kTimedOut) {
    Record r = bench.blank(c);
    decide(r, {Ended::lost, "time: the race checker got too little of the processor", FaultKind::time});
    bench.emit(0, std::move(r));
    return;
  }
  std::string found;
  // The status that ThreadSanitizer gives a race is also that of a process which it saw die.
  if (found = line_with(ran.output, {"data race"}); !found.empty()) {
    const std::string place = line_with(ran.output, {"    #0 "});
    found += place.substr(std::min(place.size(), place.find_first_not_of(' ')));
  }
  Record r = bench.blank(c);
  judge(r, ran, Check::race, found);
  bench.emit(0, std::move(r));
}

/// A kernel from elsewhere on a GPU: racecheck watches its shared memory in one launch of a few rows. The
/// search for a contract asks again and again: the tool runs once for each size.
void run_racecheck(Bench& bench, const ConformanceCase& c) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<Ran, std::string>> known;
  const std::string size = fmt::format("--family normal_1 --V {} --rows {}", c.V, c.rows);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, fresh] = known.try_emplace(bench.variant().key() + " " + size);
  auto& [ran, found] = at->second;
  if (fresh) ran = sanitized("racecheck", child_command(bench, "--only families " + size), found);
  Record r = bench.blank(c);
  judge(r, ran, Check::race, found);
  bench.emit(0, std::move(r));
}

void run_races(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const std::optional<OneFile> file = source_of(bench.variant());
  if (file && file->host) {
    run_race_checker(bench, cases[0], *file);
    return;
  }
  if (file && sanitizer_missing().empty()) {
    run_racecheck(bench, cases[0]);
    return;
  }
#if defined(__SANITIZE_THREAD__)
  if (!on_host(bench.variant().backend)) {
    bench.emit(0, bench.unsupported(cases[0], "races: only kernels on the host executor are watched"));
    return;
  }
  const Ran ran =
      shell("TSAN_OPTIONS=\"halt_on_error=1:exitcode=66:$TSAN_OPTIONS\" " +
            child_command(bench, fmt::format("--only shapes --family constant --V {}", cases[0].V)));
  Record r = bench.blank(cases[0]);
  judge(r, ran, Check::race, line_with(ran.output, {"data race"}));
  bench.emit(0, std::move(r));
#else
  bench.emit(
      0, bench.unsupported(
             cases[0],
             "races: needs a ThreadSanitizer build (cmake --preset tsan), a source file with --host, or one "
             "for a GPU and compute-sanitizer in PATH"));
#endif
}

std::vector<conformance::Unit> plan_races(const conformance::Planning& p) {
  const std::int64_t V = conformance::nearest_V(p.variant.limits, 259);
  const std::int64_t rows = conformance::nearest_rows(p.variant.limits, 3);
  return {{{{"constant", V, rows, p.variant.op, 0}}, run_races, 1e8, true}};
}

}  // namespace

std::string sanitizer_missing() {
  return shell("command -v compute-sanitizer").status == 0 ? "" : "compute-sanitizer is not in PATH";
}

conformance::Group sanitize_group() {
  return {"sanitize", "compute-sanitizer: memcheck, racecheck, initcheck, synccheck over a small set.",
          plan_sanitize, true, true};
}

conformance::Group races_group() {
  return {"races",
          "Two threads on one address without a barrier between them (ThreadSanitizer; racecheck for a "
          "source file on a GPU).",
          plan_races, false, true};
}

}  // namespace assay
