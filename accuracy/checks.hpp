// SPDX-License-Identifier: Apache-2.0
// The running tally of the checks. Every comparison is a call of Tally::judge with an enclosure of the error
// and an enclosure of its bound. The comparisons are written so that NaN fails.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

class Tally {
 public:
  Tally();

  /// Compares an error in [error_lo, error_hi] with a bound in [bound_lo, bound_hi]. It passes if error_hi <=
  /// bound_lo. It fails unless error_lo <= bound_hi holds, so NaN fails. Anything else is undecided. An
  /// infinite or NaN bound is counted as unbounded, and neither passes nor fails. Returns false on a failure.
  bool judge(Check c, double error_lo, double error_hi, double bound_lo, double bound_hi) {
    CheckResult& r = at(c);
    if (!(bound_lo < INFINITY)) {
      ++unbounded_;
      return true;
    }
    ++r.judged;
    if (error_hi <= bound_lo) {
      const double u = bound_hi > 0 ? error_hi / bound_hi : 0;
      if (u > r.utilisation) r.utilisation = u;
      return true;
    }
    if (error_lo <= bound_hi) {
      ++r.undecided;
      r.utilisation = std::max(r.utilisation, 1.0);
      return true;
    }
    ++r.failed;
    const double u = error_lo / bound_hi;
    if (!(u <= r.utilisation)) r.utilisation = std::isnan(u) ? INFINITY : u;
    return false;
  }
  /// An exact check. Returns `holds`.
  bool require(Check c, bool holds) {
    CheckResult& r = at(c);
    ++r.judged;
    if (!holds) ++r.failed;
    return holds;
  }

  /// True at the first failure of the check: the moment to write its detail.
  bool first(Check c) const { return at(c).failed == 1 && at(c).detail.empty(); }
  CheckResult& at(Check c) { return results_[static_cast<std::size_t>(c)]; }
  const CheckResult& at(Check c) const { return results_[static_cast<std::size_t>(c)]; }

  std::int64_t failed() const;
  std::int64_t undecided() const;
  /// The number of comparisons whose bound was infinite or NaN.
  std::int64_t unbounded() const { return unbounded_; }
  /// The checks that judged at least once.
  std::vector<CheckResult> results() const;
  /// Names of the failed checks, most specific first, comma separated.
  std::string failed_names() const;

 private:
  std::array<CheckResult, kChecks> results_;
  std::int64_t unbounded_ = 0;
};

}  // namespace assay
