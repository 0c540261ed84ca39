// SPDX-License-Identifier: Apache-2.0
// onepass_top_p_temperature: onepass_top_p of logits that a temperature divides, one for each row. The
// selection needs no exp, so a second read takes the sum. exp is accurate.
// Worst case seen: 19.3 ulp (f32@host), long_tail, V = 4099, rows = 3, threshold = 1, seed 1: row 2, column 3319.
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopPTemperature = onepass::TopPLadder<onepass::Accurate, onepass::Temperature>;
ASSAY_REGISTER_KERNEL(OnepassTopPTemperature, "onepass_top_p_temperature", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
