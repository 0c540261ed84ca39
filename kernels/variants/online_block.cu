// online_block: Algorithm 3 with one block per row. Each thread folds a strided slice of the row into
// (m, d); warps, then the block, merge the partials with ⊕. Reads logits twice.
#include "kernels/reduce.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine(n, leaf(to_float(x[i])));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(online_block<T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};
ASSAY_REGISTER_KERNEL(OnlineBlock, "online_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
