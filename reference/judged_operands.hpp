// SPDX-License-Identifier: Apache-2.0
// Which operands are judged for an op.
#pragma once

#include <cstdint>

#include "reference/problem.hpp"

namespace assay {

namespace operand {
inline constexpr std::uint32_t any_scale = scale | temperature | temperatures;
inline constexpr std::uint32_t all = any_scale | any_mask | any_bias | lengths;
}  // namespace operand

/// As bits of operand::. A top-k may rank the stored logits, whose order no positive factor changes. A mask
/// or a bias does change it, and kernels differ in what they rank then.
constexpr std::uint32_t judged_operands(Op op) {
  if (selects(op)) return operand::any_scale;
  return from_logits(op) ? operand::all : 0;
}

}  // namespace assay
