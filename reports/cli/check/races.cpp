// SPDX-License-Identifier: Apache-2.0
// The group `races`: two threads access one address with no barrier in between. For a source file,
// ThreadSanitizer monitors the host executor, or racecheck a GPU.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/status.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/watched.hpp"
#include "reports/cli/options.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

using conformance::Bench;
using conformance::ConformanceCase;

/// Limit of CPU seconds for a few short rows under ThreadSanitizer. Right kernels take a few seconds.
constexpr int kRaceSeconds = 60;

/// Compiles a source file again for the executor, with ThreadSanitizer on the kernel, and runs it.
void run_race_checker(Bench& bench, const ConformanceCase& c, const OneFile& file) {
  std::string program;
  try {
    program = build_race_checker(file);
  } catch (const InputError& e) {
    bench.emit(0, bench.unsupported(c, obstacle(Why::races, e.what())));
    return;
  }
  std::string sizes = fmt::format(" {}", conformance::nearest_rows(bench.variant().limits, 3));
  // Causal squares of 1024 would take ThreadSanitizer too long.
  const std::int64_t longest = bench.variant().claim.causal == Causal::no ? 1024 : 257;
  for (const std::int64_t usual :
       {std::int64_t{1}, std::int64_t{32}, std::int64_t{64}, std::int64_t{100}, longest})
    if (const std::int64_t V = conformance::nearest_V(bench.variant(), usual); V > 0)
      sizes += fmt::format(" {}", V);
  // An endless loop uses up its CPU time. If the machine has too little CPU time for the kernel, nothing is
  // shown.
  isolation::sandbox_shows(program);
  std::string sandbox = environment_of({isolation::environment_of_kernels()});
  for (const std::string& word : sandbox_of_programs()) sandbox += shell_quoted(word) + " ";
  const Ran ran = shell(fmt::format("ulimit -t {}; setarch \"$(uname -m)\" -R timeout 600 {}'{}'{}",
                                    kRaceSeconds, sandbox, program, sizes));
  if (ran.status == kTimedOut) {
    Record r = bench.blank(c);
    decide(r, {Ended::lost, "time: the race checker got too little processor time", FaultKind::time});
    bench.emit(0, std::move(r));
    return;
  }
  std::string found;
  // ThreadSanitizer's exit status for a race is also that of a crash, so the output decides.
  if (found = line_with(ran.output, {"data race"}); !found.empty()) {
    const std::string place = line_with(ran.output, {"    #0 "});
    found += place.substr(std::min(place.size(), place.find_first_not_of(' ')));
  }
  Record r = bench.blank(c);
  judge_watched(r, ran, Check::race, found);
  bench.emit(0, std::move(r));
}

/// What racecheck reported of one child.
struct Watched {
  Ran ran;
  std::string found;
};
/// The tool takes ten seconds or more; this program goes on meanwhile.
struct Watching {
  std::atomic<pid_t> tool{0};
  std::shared_future<Watched> result;

  ~Watching() { end(); }
  void end() const {
    if (!result.valid()) return;
    while (tool == 0 && result.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
    }
    if (const pid_t running = tool) kill(running, SIGTERM);
  }
};

/// All that have begun, by the command that the tool watches.
struct AllWatching {
  std::mutex mutex;
  std::map<std::string, Watching> begun;
};
AllWatching& all_watching() {
  static AllWatching all;
  return all;
}

/// Runs the target's launches under racecheck, once for the same words. A compiler that the tool watched
/// would take minutes.
Watching& racecheck(const Variant& variant, const std::string& target, std::uint64_t seed) {
  const std::string command = child_command(loaded_words(variant, target) + " --only launches", seed);
  const std::lock_guard<std::mutex> lock(all_watching().mutex);
  Watching& one = all_watching().begun[command];
  if (!one.result.valid())
    one.result = std::async(std::launch::async, [command, tool = &one.tool] {
                   Watched w;
                   w.ran = sanitized("racecheck", command, w.found, tool);
                   return w;
                 }).share();
  return one;
}

/// The result. None if the kernel hangs meanwhile: it would hang under the tool too, and longer. Nor for a
/// kernel that crashes, if the tool takes more than a few seconds still: crashes may keep it for minutes.
std::optional<Watched> result_of(Watching& w, const conformance::Hangs* hangs) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (w.result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    if (hangs &&
        (hangs->shown() || hangs->over() || (hangs->crashed() && std::chrono::steady_clock::now() > end)))
      return {};
  return w.result.get();
}

void emit_left(Bench& bench, const ConformanceCase& c) {
  Record r = bench.blank(c);
  r.why = Why::left;
  const conformance::Hangs& hangs = *bench.options().hangs;
  r.reason = hangs.shown() || hangs.over() ? hangs.why() : "left, because launches of this kernel crashed";
  bench.emit(0, std::move(r));
}

/// The words of the target that racecheck began with, by kernel key.
std::map<std::string, std::string>& asked_for() {
  static std::map<std::string, std::string> words;
  return words;
}

bool races(const Watched& w) {
  return w.found.find("hazard") != std::string::npos || w.found.find("Race") != std::string::npos;
}

bool all_are(const Watched& w, Status status) {
  return w.found.empty() && !w.ran.records.empty() &&
         std::ranges::all_of(w.ran.records, [&](const Record& r) { return r.status == status; });
}
/// Racecheck found nothing, and it watched every launch: the kernel refused none and died of none.
bool watched_all(const Watched& w) { return w.ran.status == 0 && all_are(w, Status::pass); }
bool watched_none(const Watched& w) { return all_are(w, Status::unsupported); }

/// An external kernel on a GPU: racecheck monitors its shared memory in one launch of each kind. The run
/// that began with the check counts if it found a race, or if it watched every launch. Otherwise the
/// launches run once more within the contract. Example: V = 33 was refused, and the contract has V = 64 in
/// its place.
void run_racecheck(Bench& bench, const ConformanceCase& c) {
  const std::string& target = bench.options().target;
  const auto asked = asked_for().find(bench.variant().key());
  std::optional<Watched> seen = Watched();
  if (asked != asked_for().end())
    seen = result_of(racecheck(bench.variant(), asked->second, bench.seed()), bench.options().hangs.get());
  if (seen && !races(*seen) && !watched_all(*seen))
    seen = result_of(racecheck(bench.variant(), target, bench.seed()), bench.options().hangs.get());
  if (!seen) return emit_left(bench, c);
  const Watched& w = *seen;
  if (watched_none(w)) {
    bench.emit(0,
               bench.unsupported(
                   c, obstacle(Why::races, "none of the launches for racecheck lies within the contract")));
    return;
  }
  Record r = bench.blank(c);
  say_unsandboxed(r);
  judge_watched(r, w.ran, Check::race, w.found);
  bench.emit(0, std::move(r));
}

bool by_racecheck(const Variant& v) {
  const std::optional<OneFile> file = source_of(v);
  return file && !file->host && sanitizer_missing().empty();
}

void run_races(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const std::optional<OneFile> file = source_of(bench.variant());
  // It would hang again, and use up the tool's whole time.
  if (file && bench.options().hangs && bench.options().hangs->shown()) return emit_left(bench, cases[0]);
  if (file && file->host) {
    run_race_checker(bench, cases[0], *file);
    return;
  }
  if (by_racecheck(bench.variant())) {
    run_racecheck(bench, cases[0]);
    return;
  }
  if (file && sandbox_demanded()) {
    bench.emit(0, bench.unsupported(cases[0], obstacle(Why::races, sanitizer_missing())));
    return;
  }
#if defined(__SANITIZE_THREAD__)
  if (!on_host(bench.variant().backend)) {
    bench.emit(0, bench.unsupported(cases[0],
                                    obstacle(Why::races, "only kernels on the host executor are watched")));
    return;
  }
  if (sandbox_demanded()) {
    bench.emit(0, bench.unsupported(cases[0], obstacle(Why::races, sanitizer_missing())));
    return;
  }
  const Ran ran = shell("TSAN_OPTIONS=\"halt_on_error=1:exitcode=66:$TSAN_OPTIONS\" " +
                        child_command(fmt::format("{} --only shapes --family constant --V {}",
                                                  bench.options().target, cases[0].V),
                                      bench.seed()));
  Record r = bench.blank(cases[0]);
  say_unsandboxed(r);
  judge_watched(r, ran, Check::race, line_with(ran.output, {"data race"}));
  bench.emit(0, std::move(r));
#else
  bench.emit(
      0,
      bench.unsupported(
          cases[0],
          obstacle(Why::races,
                   "needs a ThreadSanitizer build (cmake --preset tsan), a source file with --host, or one "
                   "for a GPU and compute-sanitizer in PATH")));
#endif
}

std::vector<conformance::Unit> plan_races(const conformance::Planning& p) {
  const std::int64_t V = conformance::nearest_V(p.variant, 259);
  const std::int64_t rows = conformance::nearest_rows(p.variant.limits, 3);
  return {{{{"constant", V, rows, p.variant.op, 0}}, run_races, 1e8, true}};
}

}  // namespace

void end_races() {
  const std::lock_guard<std::mutex> lock(all_watching().mutex);
  for (const auto& [command, one] : all_watching().begun) one.end();
}

void begin_races(const Variant& variant, const std::string& target, std::uint64_t seed) {
  if (!by_racecheck(variant)) return;
  std::string& asked = asked_for()[variant.key()];
  if (asked == target) return;
  // What runs without these limits watches launches that do not count.
  if (!asked.empty()) end_races();
  asked = target;
  racecheck(variant, target, seed);
}

conformance::Group races_group() {
  return {"races",
          "Two threads on one address without a barrier between them (ThreadSanitizer; racecheck for a "
          "source file on a GPU).",
          plan_races, false, conformance::Stage::last};
}

}  // namespace assay
