// SPDX-License-Identifier: Apache-2.0
// onepass_topk_log: the k largest logits of every row and their log-probabilities, (x - m) - log(d), by the
// ladder of onepass_topk: every logit read once if k is at most 256. exp is accurate.
// Worst case seen: 620.3 ulp (f32@host), gpt_logits, V = 32000, rows = 1, k = 256, seed 1: row 0, column 3277.
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopkLog = onepass::TopkLadder<onepass::LogSoftmax>;
ASSAY_REGISTER_KERNEL(OnepassTopkLog, "onepass_topk_log", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
