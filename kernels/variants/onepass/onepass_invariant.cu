// SPDX-License-Identifier: Apache-2.0
// onepass_fast with the same bits for the same row, wherever it lies and whatever rows there are beside it.
// Who holds a row is decided by its length alone, so a few long rows leave most of a GPU without work. A row
// that starts at no multiple of 16 bytes is summed in the same order as one that does.
// Worst case seen: 8.388e+06 ulp (f32@host), subnormal_out, V = 128256, rows = 1, seed 1: row 0, column 44506.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassInvariant = onepass::Ladder<onepass::Invariant<onepass::Fast>>;
ASSAY_REGISTER_KERNEL(OnepassInvariant, "onepass_invariant", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
