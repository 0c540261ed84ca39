// SPDX-License-Identifier: Apache-2.0
// onepass_lse_fast: onepass_lse with the hardware's approximate exp, so that 16-bit logits are read at the
// speed of the memory.
// Worst case seen: 1.652e+07 ulp (f32@host), subnormal_out, V = 1023, rows = 3, seed 1: row 0, column 0.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassLseFast = onepass::Ladder<onepass::LseFast>;
ASSAY_REGISTER_KERNEL(OnepassLseFast, "onepass_lse_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
