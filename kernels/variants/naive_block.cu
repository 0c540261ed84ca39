// naive_block: the paper's Algorithm 1 (arXiv 1805.02867), one block per row. No maximum is subtracted: the
// sum overflows once the row's lse passes 88.7, and underflows far below zero. Reads logits twice.
#include "kernels/reduce.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void __launch_bounds__(kThreads)
    naive_block(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) sum += expf(to_float(x[i]));
    sum = block_reduce<Sum, kThreads>(sum);
    if (probs.base) {
      T* p = probs.row(row);
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        p[i] = from_float<T>(expf(to_float(x[i])) / sum);
    }
    if (m && threadIdx.x == 0) {
      m[row] = 0.0f;  // the shift that was applied: none
      d[row] = sum;
    }
  }
}

struct NaiveBlock {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = Algorithm::naive,
      .shift = Shift::none,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .policy = {.pos_inf = PosInfRows::inf_only},
      .loads = 2,
      .stores = 1,
      .in_place = true,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(naive_block<T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};
ASSAY_REGISTER_KERNEL(NaiveBlock, "naive_block", f16, bf16, f32);

}  // namespace
}  // namespace assay::ASSAY_BACKEND
