// SPDX-License-Identifier: Apache-2.0
// The resolution: how small an error the judgement would have refused. A pass means no more than that,
// because outputs that are all off by less pass as well. Every record states it. A pass whose resolution is
// too coarse does not count as a pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reference/formats.hpp"

namespace assay {

/// The resolution of the worst row of a record. Errors are relative to the exact value. For logarithms they
/// are absolute, which is a relative error of the logarithm's argument.
class Resolution {
 public:
  /// One output with exact value p > 0. It may be off by `room` before its last rounding to a narrower
  /// format. A right output that is multiplied by 1 + `refused` is certainly refused.
  void element(double p, double room, double refused) {
    mass_ += p;
    room_ += room;
    sum_ = std::min(sum_, refused);
  }
  /// One logarithm with this weight. It may be off by `room`; a pass has meaning while `room` is at most
  /// `limit`.
  void logarithm(double weight, double room, double limit) {
    mass_ += weight;
    room_ += weight * room;
    limit_ += weight * limit;
  }
  /// If all outputs of the row, or its sum, are off by this same relative amount, they are certainly refused.
  void sum(double refused) { sum_ = std::min(sum_, refused); }
  /// Ends the row. `limit`: the largest room of a typical output that still tells right from wrong.
  void row(double limit);

  bool judged() const { return rows_ > 0; }
  /// The relative error of a typical output that can stay unseen: the mean, weighted by the size of the
  /// outputs.
  double of_element() const { return element_; }
  /// The smallest relative error common to a whole row that is certainly refused.
  double of_sum() const { return common_; }
  /// The room of the worst row, divided by its limit. Above 1 a pass tells too little; infinite if a bound
  /// is.
  double over_limit() const { return over_limit_; }

 private:
  // Of the current row.
  double mass_ = 0, room_ = 0, limit_ = 0, sum_ = std::numeric_limits<double>::infinity();
  // Of all rows so far.
  double element_ = 0, common_ = 0, over_limit_ = 0;
  std::int64_t rows_ = 0;
};

/// The largest error of a typical output that may stay unseen in a pass: 1e-3 for f32 outputs. For narrower
/// outputs two units of roundoff, the smallest value that two ulp can have.
double resolution_limit(Dtype out);

}  // namespace assay
