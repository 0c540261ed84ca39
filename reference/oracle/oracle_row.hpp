// SPDX-License-Identifier: Apache-2.0
// The oracle on one sorted row with a finite maximum: everything that needs e^(x - m).
#pragma once

#include <cstdint>
#include <span>

#include "reference/oracle/oracle.hpp"

namespace assay {

/// Equal finite logits, at positions order[begin, begin + count) of the row. They share one probability.
struct Group {
  double x = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Fills s, lse, lse_rounded, weighted_distance, undecided and bits; and lo, hi and rounded at the positions
/// of the groups. Needs order, m and d, and vectors of the right size. Groups are in descending order of x.
void solve_row(RowTruth& row, std::span<const Group> groups, Dtype out, const OracleOptions& options);

}  // namespace assay
