// SPDX-License-Identifier: Apache-2.0
// onepass_topk: softmax and the k largest logits of every row, every logit read once if k is at most 256. A
// bound of the k-th largest element, taken from the maxima that the softmax needs anyway, leaves few
// candidates. Beyond 256, a radix selection reads the row again. exp is accurate.
// Worst case seen: 56.51 ulp (f32@host), uniform_80, V = 32, rows = 4, k = 32, seed 1: row 1, column 17.
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopk = onepass::TopkLadder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(OnepassTopk, "onepass_topk", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
