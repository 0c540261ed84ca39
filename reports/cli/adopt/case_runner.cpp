// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/case_runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reference/error.hpp"
#include "reference/k_range.hpp"
#include "reports/adopt/conclude.hpp"

namespace assay {
namespace {

/// Throws InputError if no problem is like this: somebody has written the case, or another version has.
void require_possible(const CertifiedCase& c) {
  const auto op = parse_op(c.op);
  if (!op) throw InputError("op " + c.op + ": unknown");
  if (const std::string why = why_not(*op, c.pick()); !why.empty()) throw InputError(why);
  if (c.V < 0 || c.rows < 0)
    throw InputError(fmt::format("V {}, rows {}: must not be negative", c.V, c.rows));
  if (!may_be_replayed(c.group, c.rows, c.V))
    throw InputError(
        fmt::format("group {}, V {}, rows {}: no certificate has such a case", c.group, c.V, c.rows));
}

/// Runs one case again, alone.
Record run_again(const CertifiedCase& c, const Certificate& from, const Variant& kernel,
                 const std::string& words) {
  require_possible(c);
  conformance::ConformanceOptions o;
  o.only = {c.group};
  o.extent = from.extent == "quick"  ? conformance::Extent::quick
             : from.extent == "full" ? conformance::Extent::full
                                     : conformance::Extent::normal;
  // Probes choose their own sizes: by those, none is planned.
  if (c.family == kProbeFamily) {
    o.narrow.family = c.family;
  } else {
    o.narrow = {c.family, c.setup, c.V, c.rows, {}, {}, parse_op(c.op)};
    if (c.k > 0) o.narrow.pick.k = c.k;
    if (c.threshold > 0) o.narrow.pick.threshold = c.threshold;
  }
  o.seed = c.seed;
  o.threads = 1;
  o.target = words;
  o.patience = std::min(1.0, from.target.timeout_seconds / TargetOptions().timeout_seconds);
  // One worker for all cases: that of `kernel`.
  conformance::ConformanceResult result = conformance::run_conformance([&] { return kernel; }, o);
  // A case without a setup has no word that tells it from those that have one.
  const auto at = std::find_if(result.records.begin(), result.records.end(), [&](const Record& r) {
    return r.setup == Setup(c.setup) && r.family == c.family && r.V == c.V && r.rows == c.rows &&
           r.pick() == c.pick() && r.op == c.op;
  });
  if (at == result.records.end()) throw InputError("no such case is planned");
  return std::move(*at);
}

}  // namespace

CaseRunner::CaseRunner(const Certificate& c, const std::vector<Target>& targets) {
  for (const Target& t : targets)
    for (const CertifiedKernel& k : c.kernels) {
      if (k.key != t.variant.key()) continue;
      const Target within = with_declared(t, k.undeclared);
      made_.emplace(k.key, Made{within.make(), within.words});
    }
}

Record CaseRunner::run(const CertifiedCase& one, const Certificate& c) const {
  const Made& m = made_.at(one.key);
  return run_again(one, c, m.variant, m.words);
}

}  // namespace assay
