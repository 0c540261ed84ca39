// SPDX-License-Identifier: Apache-2.0
// The group `sanitize`: a small set of cases again, under each tool of compute-sanitizer.
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "reference/text.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/watched.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

using conformance::Bench;
using conformance::ConformanceCase;

/// The command for a case of a registered key. The process that fills the buffers also launches.
std::string in_process_command(const Bench& bench) {
  return fmt::format(
      "timeout --foreground 600 {} report --key {} --family row_encoded --V 33 --rows 3 --threads 1 --out "
      "\"$out\"",
      shell_quoted(own_path()), bench.variant().key());
}

void run_sanitizer(Bench& bench, const std::vector<ConformanceCase>& cases) {
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    const std::string tool = cases[i].setup.text();
    if (on_host(bench.variant().backend)) {
      bench.emit(i, bench.unsupported(cases[i], obstacle(Why::sanitize, "the kernel has no device code")));
      continue;
    }
    if (const std::string why = sanitizer_missing(); !why.empty()) {
      bench.emit(i, bench.unsupported(cases[i], obstacle(Why::sanitize, why)));
      continue;
    }
    // For a worker, the supervisor fills the buffers, and the tool does not see that.
    const bool unseen = tool == "initcheck";
    if (unseen && !find_variant(bench.variant().key())) {
      bench.emit(
          i, bench.unsupported(cases[i], obstacle(Why::initcheck, "buffers shared with another process")));
      continue;
    }
    const std::int64_t V = conformance::nearest_V(bench.variant(), 33);
    std::string found;
    const Ran ran = sanitized(
        tool,
        unseen ? in_process_command(bench)
               : child_command(fmt::format("{} --only layout --V {}",
                                           loaded_words(bench.variant(), bench.options().target), V),
                               bench.seed()),
        found);
    if (found.empty() && !ran.records.empty() &&
        std::ranges::all_of(ran.records, [](const Record& r) { return r.status == Status::unsupported; })) {
      bench.emit(i, bench.unsupported(cases[i], obstacle(Why::sanitize,
                                                         "none of its launches lies within "
                                                         "the contract")));
      continue;
    }
    Record r = bench.blank(cases[i]);
    say_unsandboxed(r);
    judge_watched(r, ran, *parse_check(tool), found);
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

}  // namespace

conformance::Group sanitize_group() {
  return {"sanitize", "compute-sanitizer: memcheck, racecheck, initcheck, synccheck over a small set.",
          plan_sanitize, true, conformance::Stage::last};
}

}  // namespace assay
