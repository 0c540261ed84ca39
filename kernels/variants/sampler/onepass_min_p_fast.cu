// onepass_min_p_fast: onepass_min_p with an exp of three instructions, and a product with the reciprocal of
// the sum.
#include "kernels/building_blocks/onepass_topk/min_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassMinPFast = onepass::MinPLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassMinPFast, "onepass_min_p_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
