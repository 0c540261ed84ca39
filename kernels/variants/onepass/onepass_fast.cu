// SPDX-License-Identifier: Apache-2.0
// onepass_fast: onepass with the hardware's approximate exp and one reciprocal per row. Its exp loses
// accuracy in proportion to |x - m|. Results below the smallest normal number become 0.
// Worst case seen: 8.388e+06 ulp (f32@host), subnormal_out, V = 128256, rows = 1, seed 1: row 0, column 44506.
#include "kernels/building_blocks/onepass/resident.cuh"
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassFast = onepass::Ladder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassFast, "onepass_fast", f16, bf16, f32);

#if defined(__CUDACC__)
// Before main. A test compares what it says with the table of resident.hpp.
[[maybe_unused]] const bool table_is_compared =
    (compiled_resident = onepass::resident_for<onepass::Fast>) != nullptr;
#endif

}  // namespace
}  // namespace assay::ASSAY_BACKEND
