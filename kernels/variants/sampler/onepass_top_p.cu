// SPDX-License-Identifier: Apache-2.0
// onepass_top_p: the softmax of the nucleus of every row, 0 elsewhere. The sum and the best 256 come from
// onepass_topk, in one read. Where they hold the set, the outputs follow from them; elsewhere a search by
// rank reads the row up to 16 times. exp is accurate.
// Worst case seen: 28.33 ulp (f32@host), uniform_80, V = 33, rows = 4, threshold = 1, seed 1: row 3, column 27.
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopP = onepass::TopPLadder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(OnepassTopP, "onepass_top_p", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
