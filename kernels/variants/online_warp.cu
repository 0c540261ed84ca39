// online_warp: Algorithm 3 with one warp per row. Each lane folds a strided slice into (m, d); a butterfly
// of ⊕ merges the 32 partials. No shared memory and no block barrier. Reads logits twice.
#include "kernels/reduce.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

template <class T>
__global__ void __launch_bounds__(kThreads)
    online_warp(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  // A warp's lanes share the row, so they leave the loop together.
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < logits.count; row += step) {
    const T* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = lane; i < V; i += 32) n = combine(n, leaf(to_float(x[i])));
    n = warp_reduce<Combine<AccurateExp>>(n);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = lane; i < V; i += 32) p[i] = from_float<T>(expf(to_float(x[i]) - n.m) / n.d);
    }
    if (m && lane == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

struct OnlineWarp {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return ceil_div(V, 32) + 5; },
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(online_warp<T>, grid_for(ceil_div(p.rows, kWarps), stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};
ASSAY_REGISTER_KERNEL(OnlineWarp, "online_warp", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
