// SPDX-License-Identifier: Apache-2.0
// The numbers of a case's shape as fields: the list of the op's row, under its names.
#pragma once

#include <string>

#include "reference/fields.hpp"
#include "reference/problem.hpp"

namespace assay {

/// Visits the numbers of a shape. What is read must know its op by then. Of what is no op, and so in a
/// schema, a number that only some ops have is optional.
template <class S, class Visit>
void each_number(S& shape, const std::string& op, Visit& visit) {
  const bool known = parse_op(op).has_value();
  each_size(sizes_of(op), shape, [&](const SizeInfo& s, auto& n) {
    if (s.part == SizePart::threshold || !(s.in_use || known))
      visit.newer(s.name, n);
    else
      visit(s.name, n);
  });
  if (!known) visit.if_set(kKeptSizes[2].name, shape.threshold);
}

/// For files from before a threshold was a field of its own: takes it from `k`.
inline void read_old_threshold(const nlohmann::json& j, const std::string& op, CaseShape& shape) {
  const std::optional<Op> known = parse_op(op);
  if (!known || !keeps_a_set(*known) || j.contains("threshold")) return;
  int k = 0;
  FieldReader{j}("k", k);
  shape.threshold = of_old_k(*known, k).threshold;
}

}  // namespace assay
