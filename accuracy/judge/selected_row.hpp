// SPDX-License-Identifier: Apache-2.0
// The k elements that a top-k must select, and the row that they make: op topk_softmax is the softmax of that
// row. Elements that tie for the last slot are equal, so the row is the same whichever of them is taken.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/claim.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

/// True if top-k ranks two logits alike: they are equal, or both NaN.
bool same_rank(double a, double b);
/// True if the claim lets top-k pass over such a logit.
bool ignored(const Claim& claim, double logit);
/// The number of elements that can be selected; later slots are empty.
std::int64_t selectable(const Claim& claim, const RowTruth& row);
/// The position that slot r must hold: the exact order under the claim's NaN order and tie rule.
std::int32_t ranked(const Claim& claim, const RowTruth& row, std::int64_t r);

/// Truth of the row of the k selected logits, slot by slot. Its roundings are left to the enclosures
/// (`rounded` is empty).
RowTruth selected_truth(const Claim& claim, const RowTruth& row, int k);
/// The same of given positions, each inside the row.
RowTruth truth_of_selected(const RowTruth& row, std::span<const std::int64_t> positions);

}  // namespace assay
