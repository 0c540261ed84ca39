// SPDX-License-Identifier: Apache-2.0
// onepass_topk_log: the k largest logits of every row and their log-probabilities, (x - m) - log(d), by the
// ladder of onepass_topk: every logit read once if k is at most 256. exp is accurate.
// Worst case seen: 1.675e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, k = 5, seed 1: row 2, column 415.
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopkLog = onepass::TopkLadder<onepass::LogSoftmax>;
ASSAY_REGISTER_KERNEL(OnepassTopkLog, "onepass_topk_log", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
