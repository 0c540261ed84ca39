// SPDX-License-Identifier: Apache-2.0
#include "accuracy/sane.hpp"

#include <fmt/format.h>

namespace assay {

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

}  // namespace assay
