// SPDX-License-Identifier: Apache-2.0
#include "accuracy/status.hpp"

namespace assay {
namespace {

std::string failed_checks(const Record& r) {
  std::string names;
  for (const CheckResult& c : r.checks)
    if (c.failed > 0) names += (names.empty() ? "" : ", ") + std::string(name(c.check));
  return names;
}

}  // namespace

void decide(Record& r, const Grounds& g) {
  const auto is = [&r](Status status, const std::string& reason) {
    r.status = status;
    r.reason = reason;
  };
  if (g.ended == Ended::crashed || g.ended == Ended::hung)
    is(g.ended == Ended::crashed ? Status::crashed : Status::hung, g.fault);
  else if (const std::string failed = failed_checks(r); !failed.empty())
    is(Status::fail, "failed: " + failed);
  else if (g.ended == Ended::lost && g.kind == FaultKind::died)
    is(Status::inconclusive, g.fault);
  else if (g.ended == Ended::lost) {
    is(g.kind == FaultKind::memory ? Status::unsupported : Status::not_run, g.fault);
    r.wants = g.kind;
  } else if (!g.undecided.empty())
    is(Status::inconclusive, g.undecided);
  else if (!g.nothing_judged.empty())
    is(Status::unsupported, g.nothing_judged);
  else if (!g.too_weak.empty()) {
    is(g.weak_is_outside ? Status::unsupported : Status::inconclusive, g.too_weak);
    if (g.weak_is_outside) r.why = Why::coarse;
  } else
    is(Status::pass, g.note);
}

}  // namespace assay
