// SPDX-License-Identifier: Apache-2.0
#include "accuracy/status.hpp"

#include <fmt/format.h>

#include "kernels/fault_kind.hpp"

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
  const auto is = [&r](Status status, const std::string& reason, Why why = Why::none) {
    r.status = status;
    r.reason = reason;
    r.why = why;
  };
  if (g.ended == Ended::crashed || g.ended == Ended::hung)
    is(g.ended == Ended::crashed ? Status::crashed : Status::hung, g.fault);
  else if (const std::string failed = failed_checks(r); !failed.empty())
    is(Status::fail, "failed: " + failed);
  else if (g.ended == Ended::lost && g.kind == FaultKind::died)
    is(Status::inconclusive, g.fault);
  else if (g.ended == Ended::lost) {
    const bool memory = g.kind == FaultKind::memory;
    is(memory ? Status::unsupported : Status::not_run, g.fault,
       memory                      ? Why::memory
       : g.kind == FaultKind::time ? Why::time
                                   : Why::none);
    r.wants = g.kind;
  } else if (!g.undecided.empty())
    is(Status::inconclusive, g.undecided);
  else if (g.nothing_judged)
    is(Status::unsupported, g.nothing_judged.sentence, g.nothing_judged.why);
  else if (!g.too_weak.empty() && g.weak_is_outside)
    is(Status::unsupported, g.too_weak, Why::coarse);
  else if (!g.too_weak.empty())
    is(Status::inconclusive, g.too_weak);
  else
    is(Status::pass, g.note);
}

void require_sane(const Record& r) {
  if (r.status != Status::pass) return;
  const auto refuse = [&](const std::string& what) {
    throw Contradiction(fmt::format("a case passed although {}: {}: the verdicts of this run mean nothing",
                                    what, identity(r)));
  };
  if (beyond_bound(r.max_bound_ratio)) refuse(fmt::format("its share of a bound is {}", *r.max_bound_ratio));
  for (const CheckResult& c : r.checks) {
    if (c.failed > 0) refuse(fmt::format("check {} failed", name(c.check)));
    if (beyond_bound(c.utilisation))
      refuse(fmt::format("check {} is at {} of its bound", name(c.check), c.utilisation));
  }
}

void replace_texts(Record& r) {
  const auto x = [](std::string& text) {
    if (!text.empty()) text = "x";
  };
  for (std::string* text : {&r.reason, &r.returned, &r.behaves_like, &r.at_first}) x(*text);
  for (std::string& text : r.evidence) x(text);
  for (ProbeResult& p : r.probes) x(p.trait), x(p.saw);
  for (CheckResult& c : r.checks) x(c.detail);
}

#ifdef ASSAY_X_TEXTS
void finish_texts(Record& r) { replace_texts(r); }
#else
void finish_texts(Record&) {}
#endif

}  // namespace assay
