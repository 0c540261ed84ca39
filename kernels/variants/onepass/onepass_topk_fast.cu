// SPDX-License-Identifier: Apache-2.0
// onepass_topk_fast: onepass_topk with the hardware's approximate exp, for 16-bit logits, of which a read
// brings so many that the instructions of an accurate exp take longer than the memory.
// Worst case seen: 8.387e+06 ulp (f32@host), subnormal_out, V = 4099, rows = 3, k = 64, seed 1: row 2, column 614.
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopkFast = onepass::TopkLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassTopkFast, "onepass_topk_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
