// The second look of the fast judge: rows with something the first could not pass.
#pragma once

#include <cstddef>
#include <cstdint>

#include "accuracy/fast_judge/fast_judge.hpp"

namespace assay {

/// Judges row `row` of `outputs`, whose logits and outputs are given in host memory, with the full bounds:
/// first against the fast tier's enclosures, then, element by element, against one MPFR exp over the same s,
/// and at last against the MPFR tier. Decides everything that MPFR decides.
FastJudgement judge_open_row(const Claim& claim, const Terms& terms, const Outputs& outputs, std::int64_t row,
                             const std::byte* logits, const std::byte* probs, std::int64_t open);

/// The same checks on one row by the MPFR tier alone: what the fast judge is measured against.
FastJudgement judge_row_by_mpfr(const Claim& claim, const Terms& terms, const Outputs& outputs,
                                std::int64_t row, const std::byte* logits, const std::byte* probs);

}  // namespace assay
