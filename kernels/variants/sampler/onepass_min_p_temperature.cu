// SPDX-License-Identifier: Apache-2.0
// onepass_min_p_temperature: onepass_min_p of logits that a temperature divides, one for each row, as a
// server has it. The selection is the same; the temperature enters with the exps of the candidates. exp is
// accurate.
// Worst case seen: 10.07 ulp (f32@host), normal_3, V = 4099, rows = 1, threshold = 0.000001, seed 1: row 0, column 1930.
#include "kernels/building_blocks/onepass_topk/min_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassMinPTemperature = onepass::MinPLadder<onepass::Accurate, onepass::Temperature>;
ASSAY_REGISTER_KERNEL(OnepassMinPTemperature, "onepass_min_p_temperature", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
