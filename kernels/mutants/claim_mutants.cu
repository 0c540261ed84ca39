// SPDX-License-Identifier: Apache-2.0
// Kernels that compute right results but claim another class. Each is right within some class, and most of
// its rows are also within the claimed one. The probes must refute the claim (check `claim`). A claim that is
// too modest is no fault: such a kernel must pass, and `behaves_like` names its class.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;

enum class Lie {
  none,
  fast_exp_in_sum,      // __expf in every rescaling
  fast_exp_in_merge,    // __expf where threads merge, expf within a thread
  fast_exp_in_outputs,  // __expf in the outputs, expf in the sum
  reciprocal,           // e * (1 / d)
  rough_reciprocal,     // e * r, where r is a neighbour of 1 / d, as rcp.approx may give
  reciprocal_of_long,   // only above V = 8192
  fast_exp_of_long,     // in the sum, only above V = 4096
  fdividef,             // also 0 beyond 2^126, where no maximum is subtracted
  serial,               // thread 0 adds all terms
  half_sum,             // f16 sum within a thread, fp32 merge
  kept,                 // numerators use the thread's running maximum
  exp2_product,         // 2^(x L - fl(m L))
  leaves_out,           // skips terms more than 20 nats below the maximum
  modest,               // accurate everywhere, claims fast exp and approximate division
  modest_height,        // sums by a tree, claims a serial sum
  modest_kept,          // recomputes numerators, claims kept ones
};
__host__ __device__ constexpr bool online(Lie l) {
  return l == Lie::none || l == Lie::fast_exp_in_sum || l == Lie::fast_exp_in_merge || l == Lie::modest ||
         l == Lie::modest_height || l == Lie::kept || l == Lie::modest_kept;
}

template <Lie L, class T>
__device__ Normalizer row_normalizer(const T* x, std::int64_t V) {
  if (online(L)) {
    using InThread = std::conditional_t<L == Lie::fast_exp_in_sum, FastExp, AccurateExp>;
    using InMerge =
        std::conditional_t<L == Lie::fast_exp_in_sum || L == Lie::fast_exp_in_merge, FastExp, AccurateExp>;
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine<InThread>(n, leaf(to_float(x[i])));
    return block_reduce<Combine<InMerge>, kThreads>(n);
  }
  float maximum = negative_infinity();
  for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, to_float(x[i]));
  maximum = L == Lie::fdividef ? 0.0f : block_reduce<Max, kThreads>(maximum);
  float sum = 0.0f;
  const std::int64_t first = L == Lie::serial ? (threadIdx.x == 0 ? 0 : V) : threadIdx.x;
  const std::int64_t step = L == Lie::serial ? 1 : kThreads;
  for (std::int64_t i = first; i < V; i += step) {
    const float xi = to_float(x[i]);
    if (L == Lie::leaves_out && xi - maximum < -20.0f) continue;
    sum += L == Lie::fast_exp_of_long && V > 4096 ? __expf(xi - maximum)
           : L == Lie::exp2_product ? exp2f(fmaf(xi, 0x1.715476p+0f, -(maximum * 0x1.715476p+0f)))
                                    : expf(xi - maximum);
    if (L == Lie::half_sum) sum = to_float(from_float<f16>(sum));
  }
  return {maximum, block_reduce<Sum, kThreads>(sum)};
}

template <Lie L>
__device__ float quotient(float e, float d, std::int64_t V) {
  if (L == Lie::reciprocal || (L == Lie::reciprocal_of_long && V > 8192)) return e * (1.0f / d);
  if (L == Lie::rough_reciprocal) return e * __int_as_float(__float_as_int(1.0f / d) + (d > 1.0f));
  if (L == Lie::fdividef) return __fdividef(e, d);
  return e / d;
}

template <Lie L, class T>
__global__ void claims(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    const Normalizer n = row_normalizer<L>(x, V);
    if (probs.base) {
      T* p = probs.row(row);
      float running = negative_infinity();
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
        const float xi = to_float(x[i]);
        running = fmaxf(running, xi);
        float e = L == Lie::fast_exp_in_outputs ? __expf(xi - n.m)
                  : L == Lie::exp2_product      ? exp2f(fmaf(xi, 0x1.715476p+0f, -(n.m * 0x1.715476p+0f)))
                                                : expf(xi - n.m);
        if (L == Lie::kept) e = xi == negative_infinity() ? 0.0f : expf(xi - running) * expf(running - n.m);
        p[i] = from_float<T>(quotient<L>(e, n.d, V));
      }
    }
    if (m && threadIdx.x == 0) {
      m[row] = n.m;
      d[row] = n.d;
    }
  }
}

template <Lie L>
struct Liar {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = L == Lie::fdividef ? Algorithm::naive
                   : online(L)        ? Algorithm::online
                                      : Algorithm::safe,
      .shift = L == Lie::fdividef ? Shift::none : Shift::subtract,
      .exp = L == Lie::modest ? Exp::fast : Exp::accurate,
      .division = L == Lie::modest ? Division::approximate : Division::ieee,
      .normalise = L == Lie::modest_kept ? Normalise::kept : Normalise::recomputed,
      .height = [](std::int64_t V) { return L == Lie::modest_height ? V : block_height(V, kThreads); },
      .policy = {.pos_inf = L == Lie::fdividef ? PosInfRows::inf_only : PosInfRows::nan},
      .loads = 3,
      .stores = 1,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(claims<L, T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};

/// Safe softmax in half precision, one thread per row. Multiplies by the rounded reciprocal of the sum.
__global__ void half_product(Rows<const f16> logits, Rows<f16> probs, std::int64_t V) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       row < logits.count; row += step) {
    const f16* x = logits.row(row);
    f16 maximum = x[0], sum = from_float<f16>(0.0f);
    for (std::int64_t i = 1; i < V; ++i) maximum = __hmax(maximum, x[i]);
    for (std::int64_t i = 0; i < V; ++i) sum = __hadd(sum, hexp(__hsub(x[i], maximum)));
    const f16 reciprocal = hrcp(sum);
    for (std::int64_t i = 0; i < V; ++i) probs.row(row)[i] = __hmul(hexp(__hsub(x[i], maximum)), reciprocal);
  }
}
bool plant_half_product(const char* id, const char* fault, const Expect& expect) {
  const Claim claim{.algorithm = Algorithm::safe,
                    .exp = Exp::half,
                    .division = Division::ieee,
                    .internals = Internals::f16,
                    .height = [](std::int64_t V) { return V; },
                    .loads = 3,
                    .stores = 1};
  return plant_kernel<f16>(
      id, fault, __FILE__, Op::softmax, claim,
      [](const Problem& p, const Buffers& b, const Stream& stream) {
        launch(half_product, grid_for(ceil_div(p.rows, 32), stream), 32, 0, stream, logits_of<f16>(p, b),
               values_of<f16>(p, b), p.V);
      },
      expect);
}

template <Lie L, class T = f32>
bool plant(const char* id, const char* fault, const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Liar<L>::op, Liar<L>::claim, Liar<L>::template run<T>, expect);
}

const bool planted[] = {
    plant<Lie::none>("R08", "claims_what_it_does", {"probe", 1025, ""}),
    plant<Lie::fast_exp_in_sum>("X17", "claims_accurate_fast_in_sum", {"probe", 1025, "claim"}),
    plant<Lie::fast_exp_in_sum, f16>("X17", "claims_accurate_fast_in_sum_f16", {"probe", 1025, "claim"}),
    plant<Lie::fast_exp_in_sum, bf16>("X17", "claims_accurate_fast_in_sum_bf16", {"probe", 1025, "claim"}),
    plant<Lie::fast_exp_in_merge>("X17", "claims_accurate_fast_in_merge", {"probe", 1025, "claim"}),
    plant<Lie::fast_exp_in_outputs>("M54", "claims_accurate_fast_in_outputs", {"probe", 1025, "claim"}),
    plant<Lie::reciprocal>("X18", "claims_ieee_reciprocal", {"probe", 1025, "claim"}),
    plant<Lie::rough_reciprocal>("X18", "claims_ieee_rough_reciprocal", {"probe", 1025, "claim"}),
    plant<Lie::reciprocal_of_long>("X53", "claims_ieee_reciprocal_of_long", {"probe", 1025, "claim"}),
    plant<Lie::fast_exp_of_long>("X54", "claims_accurate_fast_sum_of_long", {"probe", 1025, "claim"}),
    plant<Lie::fdividef>("X18", "claims_ieee_fdividef", {"probe", 1025, "claim"}),
    plant_half_product("X18", "claims_ieee_half_product", {"probe", 1025, "claim"}),
    plant<Lie::serial>("M62", "claims_tree_serial", {"probe", 1025, "claim"}),
    plant<Lie::serial, f16>("M62", "claims_tree_serial_f16", {"probe", 1025, "claim"}),
    plant<Lie::half_sum>("M60", "claims_f32_half_sum", {"probe", 1025, "claim"}),
    plant<Lie::half_sum, f16>("M60", "claims_f32_half_sum_f16", {"probe", 1025, "claim"}),
    plant<Lie::kept>("X19", "claims_recomputed_kept", {"probe", 1025, "claim"}),
    plant<Lie::exp2_product>("X20", "claims_subtract_exp2_product", {"probe", 1025, "claim"}),
    plant<Lie::leaves_out>("X45", "claims_tree_leaves_out", {"probe", 1025, "claim"}),
    plant<Lie::modest>("R09", "claims_fast_is_accurate", {"probe", 1025, ""}),
    plant<Lie::modest_height>("R10", "claims_serial_is_tree", {"probe", 1025, ""}),
    plant<Lie::modest_kept>("R11", "claims_kept_is_recomputed", {"probe", 1025, ""}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
