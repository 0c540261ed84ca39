// onepass_top_p_fast: onepass_top_p with an exp of three instructions, and a product with the reciprocal of
// the sum.
#include "kernels/building_blocks/onepass_topk/top_p.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using OnepassTopPFast = onepass::TopPLadder<onepass::Fast>;
ASSAY_REGISTER_KERNEL(OnepassTopPFast, "onepass_top_p_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
