// SPDX-License-Identifier: Apache-2.0
// onepass: Algorithm 3 with every logit read once and every output written once: the row stays on the chip
// between the two. Who holds it grows with the row length V, from a few lanes to a cluster of 16 blocks; few
// long rows are shared by all blocks of the GPU (building_blocks/onepass/rungs.cuh). What fits nowhere is
// read twice: from V = 1,310,724 on in f32, 2,621,448 in 16-bit types. exp and division are accurate.
// Worst case seen: 66.03 ulp (f32@host), uniform_80, V = 128, rows = 4, seed 1: row 3, column 27.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using Onepass = onepass::Ladder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(Onepass, "onepass", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
