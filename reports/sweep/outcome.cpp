// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace assay {
namespace {

/// Share of the relevant ceiling: the read if there are few outputs, otherwise the copy.
std::optional<double> share(const SweepRecord& r) {
  return reads_only(r) ? r.share_of_read : r.share_of_copy;
}

/// If launching takes a large part of the time, the share says nothing about the kernel.
bool large_enough(const SweepRecord& r) {
  return !r.empty_us || !r.copy_us || *r.copy_us >= 10 * *r.empty_us;
}

}  // namespace

std::string seconds_line(const SweepSeconds& s) {
  return fmt::format(
      "seconds: {:.1f} in all: inputs {:.1f}, verification {:.1f}, timing {:.1f}, ceilings {:.1f}, files "
      "{:.1f}, waiting for "
      "judgements {:.1f}, rest {:.1f}\n",
      s.all, s.inputs, s.verification, s.timing, s.ceilings, s.files, s.waiting, s.rest());
}

bool sweep_passed(const SweepResult& r) { return r.failed == 0 && r.measured + r.once > 0; }

std::string sweep_sentence(const SweepResult& r) {
  return fmt::format("{} of {} planned configurations timed and verified, {} failed{}", r.measured + r.once,
                     r.planned, r.failed, r.stopped.empty() ? "" : "; stopped: " + r.stopped);
}

std::string sweep_outcome(const SweepResult& r, const std::string& part) {
  const bool passed = part.empty() ? sweep_passed(r) : r.failed == 0;
  std::string s = fmt::format("{}{}: {}\n", passed ? "PASS" : "FAIL", part.empty() ? "" : " (" + part + ")",
                              sweep_sentence(r));
  s += fmt::format(
      "{} planned ({} in --out before), {} measured, {} once, {} unsupported, {} not run, {} failed\n",
      r.planned, r.had, r.measured, r.once, r.unsupported, r.not_run, r.failed);
  s += seconds_line(r.seconds);
  std::int64_t unjudged = 0;
  std::vector<const SweepRecord*> worst;
  for (const SweepRecord& one : r.records) {
    const bool timed = one.status == "measured" || one.status == "once";
    unjudged += timed && one.role != "ceiling" && one.verified == "not_judged";
    if (one.status == "failed" || (timed && one.role == "variant" && share(one) && large_enough(one)))
      worst.push_back(&one);
  }
  if (unjudged > 0) s += fmt::format("{} timed configurations lie outside what can be judged\n", unjudged);
  const auto rank = [](const SweepRecord* one) { return one->status == "failed" ? -1.0 : *share(*one); };
  std::stable_sort(worst.begin(), worst.end(),
                   [&](const SweepRecord* a, const SweepRecord* b) { return rank(a) < rank(b); });
  for (std::size_t i = 0; i < worst.size() && i < 3; ++i) {
    const SweepRecord& one = *worst[i];
    if (one.status == "failed")
      s += fmt::format("  failed: {}: {}\n", identity(one), one.reason);
    else
      s += fmt::format("  slowest: {}: {:.4g} us, {:.3g} % of the machine's {} of the same bytes\n",
                       identity(one), *one.median_us, 100 * *share(one),
                       share(one) == one.share_of_copy ? "copy" : "read");
    s += "    " + one.reproduce + "\n";
  }
  return s;
}

}  // namespace assay
