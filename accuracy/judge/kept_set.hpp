// SPDX-License-Identifier: Apache-2.0
// The sets of op min_p and op top_p, and what is left of a row when only a set is kept. KEPT_SETS.md says
// which elements may go either way.
#pragma once

#include <cstdint>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "reference/problem.hpp"

namespace assay {

enum class Member : std::uint8_t { dropped, open, kept };

/// What is needed to tell the set of a row with a finite maximum.
struct SetQuestion {
  Op op;
  double threshold;
  const Claim& claim;
  const Terms& terms;
  const RowTruth& row;
  const RoundedShift& shift;
  const RowBounds& bounds;
};

/// How far the computed exp of element i may be off: a log-error, without what is common to the row.
double exp_error(const Terms& t, const RowTruth& row, const RoundedShift& shift, std::size_t i);

/// The elements by rank, as the set takes them: descending, equal ones by the claim's tie rule. If that
/// leaves them open, those that are not 0 in `outputs` come first. Without -inf.
std::vector<std::int32_t> by_rank(const SetQuestion& q, const std::vector<bool>& not_zero);

/// Which elements a right kernel of the class keeps, by column. `rank`: by_rank().
std::vector<Member> members(const SetQuestion& q, const std::vector<std::int32_t>& rank);

/// The row of which only the elements in `kept` are left; the others count as -inf.
RowTruth kept_truth(const RowTruth& row, const std::vector<bool>& kept);

}  // namespace assay
