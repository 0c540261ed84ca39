// SPDX-License-Identifier: Apache-2.0
// onepass_topk_softmax_temperature: the k largest logits of every row, and the softmax of these alone at the
// row's temperature: top-k sampling. Every logit is read once if k is at most 256. exp is accurate.
// Worst case seen: 58.51 ulp (f32@host), uniform_80, V = 32, rows = 4, k = 32, seed 1: row 1, column 17.
#include "kernels/building_blocks/onepass_topk/softmax_of_slots.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopkSoftmaxTemperature = onepass::TopkSoftmaxLadder<onepass::Accurate, onepass::Temperature>;
ASSAY_REGISTER_KERNEL(OnepassTopkSoftmaxTemperature, "onepass_topk_softmax_temperature", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
