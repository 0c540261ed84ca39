// How small an error a judgement would have refused. A pass means no more than that: outputs that are all off
// by less pass as well. Every record says it, and a pass that would let through too much is no pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "reference/formats.hpp"

namespace assay {

/// The worst row of a record. Errors are relative to the exact value; of logarithms they are absolute, which
/// is a relative error of what the logarithm was taken of.
class Resolution {
 public:
  /// One output of exact size p > 0, which may err by `room` before its last rounding to a narrower format;
  /// times 1 + `refused` a right output is certainly refused.
  void element(double p, double room, double refused) {
    mass_ += p;
    room_ += room;
    sum_ = std::min(sum_, refused);
  }
  /// One logarithm, counted with this weight, which may err by `room`; up to `limit` that tells something.
  void logarithm(double weight, double room, double limit) {
    mass_ += weight;
    room_ += weight * room;
    limit_ += weight * limit;
  }
  /// All outputs of the row, or its sum, off by this much alike are certainly refused.
  void sum(double refused) { sum_ = std::min(sum_, refused); }
  /// The row ends. `limit`: the largest room of a typical output that still tells right from wrong.
  void row(double limit);

  bool judged() const { return rows_ > 0; }
  /// Relative error that a typical output may have unseen: the mean, weighted by the outputs' size.
  double of_element() const { return element_; }
  /// The least relative error common to a whole row that is certainly refused.
  double of_sum() const { return common_; }
  /// The worst row's room over what it may be. Above 1 a pass tells too little; infinite where a bound is.
  double over_limit() const { return over_limit_; }

 private:
  // Of the row at hand.
  double mass_ = 0, room_ = 0, limit_ = 0, sum_ = std::numeric_limits<double>::infinity();
  // Of all rows so far.
  double element_ = 0, common_ = 0, over_limit_ = 0;
  std::int64_t rows_ = 0;
};

/// The largest error that a typical output may have unseen in a pass: 1e-3 where outputs are f32; of narrower
/// ones two units of roundoff, the least that two ulp can be.
double resolution_limit(Dtype out);

}  // namespace assay
