// SPDX-License-Identifier: Apache-2.0
// onepass_topk_softmax: the k largest logits of every row and the softmax of these alone, as a router has it.
// The selection is that of onepass_topk, every logit read once if k is at most 256, and it computes no exp; a
// second kernel takes the softmax of the k. exp is accurate.
// Worst case seen: 58.51 ulp (f32@host), uniform_80, V = 32, rows = 4, k = 32, seed 1: row 1, column 17.
#include "kernels/building_blocks/onepass_topk/softmax_of_slots.cuh"
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

namespace assay::ASSAY_BACKEND {

// What other variants call as well. top_p with a temperature selects without exps, too.
template void onepass::select_logits(const Call<f16>&);
template void onepass::select_logits(const Call<bf16>&);
template void onepass::select_logits(const Call<f32>&);
template onepass::BestOfRows<f16> onepass::launch_selection<onepass::LogitsOnly, onepass::kTopPCandidates>(
    const Call<f16>&);
template onepass::BestOfRows<bf16> onepass::launch_selection<onepass::LogitsOnly, onepass::kTopPCandidates>(
    const Call<bf16>&);
template onepass::BestOfRows<f32> onepass::launch_selection<onepass::LogitsOnly, onepass::kTopPCandidates>(
    const Call<f32>&);

namespace {

using OnepassTopkSoftmax = onepass::TopkSoftmaxLadder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(OnepassTopkSoftmax, "onepass_topk_softmax", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
