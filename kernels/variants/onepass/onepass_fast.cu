// onepass_fast: onepass with the hardware's approximate exp and one reciprocal per row. Its exp loses
// accuracy in proportion to |x - m|. Results below the smallest normal number become 0.
// Worst case seen: 8.388e+06 ulp (f32@host), subnormal_out, V = 128256, rows = 1, seed 1: row 0, column 44506.
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

struct OnepassFast {
  static constexpr Op op = Op::softmax;
  template <class T>
  static constexpr Claim claim_for() {
    return {
        .algorithm = Algorithm::online,
        .exp = onepass::Fast::exp,
        .division = onepass::Fast::division,
        .height = onepass::height<T>,
        .ftz = onepass::Fast::ftz,
        .loads = [](std::int64_t V) { return onepass::read_again<T>(V) ? 2 : 1; },
        .stores = 1,
        .in_place = true,
        .batch_invariant = false,
    };
  }
  template <class T>
  static void run(const Call<T>& call) {
    onepass::run<onepass::Fast>(call);
  }
};
ASSAY_REGISTER_KERNEL(OnepassFast, "onepass_fast", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
