// onepass: Algorithm 3 with every logit read once and every output written once: the row stays in registers
// between the two. Who holds it grows with the row length V, from a few lanes to a cluster of 16 blocks
// (building_blocks/onepass/rungs.cuh). What does not fit there is read twice: from V = 524,292 on in f32,
// 1,048,584 in 16-bit types. exp and division are accurate.
// Worst case seen: 67.72 ulp (f32@host), normal_10, V = 128256, rows = 1, seed 1: row 0, column 34861.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using Onepass = onepass::Ladder<onepass::Accurate>;
ASSAY_REGISTER_KERNEL(Onepass, "onepass", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
