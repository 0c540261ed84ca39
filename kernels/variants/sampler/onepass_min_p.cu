// SPDX-License-Identifier: Apache-2.0
// onepass_min_p: the softmax of the elements whose probability is at least a threshold times the largest, 0
// elsewhere. The best 64 of a row come from the selection of onepass_topk, in one read. Where they hold the
// set, the outputs follow from them; elsewhere the row is read twice more. exp is accurate.
// Worst case seen: 10.07 ulp (f32@host), normal_3, V = 4099, rows = 1, threshold = 0.000001, seed 1: row 0, column 1930.
#include "kernels/building_blocks/onepass_topk/min_p.cuh"

namespace assay::ASSAY_BACKEND {

template onepass::BestOfRows<f16> onepass::launch_selection<onepass::LogitsAndSum<onepass::OnlyNan>,
                                                            onepass::kMinPCandidates>(const Call<f16>&);
template onepass::BestOfRows<bf16> onepass::launch_selection<onepass::LogitsAndSum<onepass::OnlyNan>,
                                                             onepass::kMinPCandidates>(const Call<bf16>&);
template onepass::BestOfRows<f32> onepass::launch_selection<onepass::LogitsAndSum<onepass::OnlyNan>,
                                                            onepass::kMinPCandidates>(const Call<f32>&);

namespace {

using OnepassMinP = onepass::MinPLadder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(OnepassMinP, "onepass_min_p", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
