// SPDX-License-Identifier: Apache-2.0
// The second look of the fast judge: rows with something that the first look could not pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "accuracy/fast_judge/fast_judge.hpp"

namespace assay {

/// Judges row `row` of `outputs` with the full bounds; its logits and outputs are given in host memory. It
/// compares first with the fast tier's enclosures, then, element by element, with one MPFR exp over the same
/// s, and last with the MPFR tier. It decides everything that MPFR can decide.
FastJudgement judge_open_row(const Claim& claim, const Terms& terms, const Outputs& outputs, std::int64_t row,
                             const std::byte* logits, const std::byte* probs, std::int64_t open);

/// The same checks on one row by the MPFR tier alone; the reference for the fast judge.
FastJudgement judge_row_by_mpfr(const Claim& claim, const Terms& terms, const Outputs& outputs,
                                std::int64_t row, const std::byte* logits, const std::byte* probs);

}  // namespace assay
