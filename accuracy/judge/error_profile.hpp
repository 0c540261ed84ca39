// SPDX-License-Identifier: Apache-2.0
// An error profile, collected while a record is judged: errors by |x - m|, and signed errors.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

struct ErrorProfile {
  struct Bin {
    double distance_lo = 0, distance_hi = 0;  // |x - m| in nats
    std::int64_t count = 0;
    /// The largest error, and the class bound of that same element, in ulp (0: none). An error can be
    /// compared only with the bound of its own element, because bounds differ within a bin. Errors above
    /// their bound take precedence over all others.
    double max_ulp = 0, bound_ulp = 0;
    double mean_ulp = 0;

    void take(double error, double bound) {
      const bool beyond = !(error <= bound), was_beyond = !(max_ulp <= bound_ulp);
      const bool replaces = beyond != was_beyond ? beyond
                            : error != max_ulp   ? error > max_ulp
                                                 : bound_ulp == 0 || bound < bound_ulp;
      if (replaces) max_ulp = error, bound_ulp = bound;
    }
  };
  std::vector<Bin> bins;
  // Signed error (got - exact) in ulp: a histogram over [-limit, limit] in equal bins, and the counts
  // outside.
  double signed_limit = 0;
  std::vector<std::int64_t> signed_counts;
  std::int64_t below = 0, above = 0;

  /// One judged element.
  void element(double distance, double ulp_error, double signed_ulp, double bound_ulp);
  /// The case is judged again from the start by the MPFR oracle: drops what was seen so far.
  void restart();
  /// The case has been judged. Turns sums into means, drops empty bins, and bins the signed errors up to a
  /// limit that holds nearly all.
  void finish();

 private:
  std::vector<float> signed_;
};

}  // namespace assay
