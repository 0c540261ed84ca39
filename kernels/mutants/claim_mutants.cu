// SPDX-License-Identifier: Apache-2.0
// Kernels that claim another class than theirs.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

// Kernels that compute right results but claim another class. Each is right within some class, and most of
// its rows are also within the claimed one. The probes must refute the claim (check `claim`). A claim that is
// too modest is no fault: such a kernel must pass, and `behaves_like` names its class.
namespace claims {

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

}  // namespace claims

// One fault for each algorithm class beyond the paper's: the kernel claims the class and only resembles it.
// The right_ kernels are the same without the fault; they must pass where the faults fail.
namespace classes {

constexpr int kThreads = 128;
constexpr float kThreshold = 8.0f;

enum class Fault {
  none,
  separate_products,  // exp2(fl(x log2e) - fl(m log2e)): the error is |x| u, not |x - m| u
  sum_left_behind,    // the sum is not rescaled to the numerators' reference
  narrow_reciprocal,  // 1 / d kept in 16 bits
  late_reciprocal,    // 1 / d is computed before the last warp is added
  stale_reference,    // lazy: the sum keeps its reference below the maximum
  reference_jumps,    // lazy: the reference changes and the sum does not
  claims_shifted,     // computes x - lse, claims (x - m) - log d
  log_of_base_2,      // log2 instead of log
  maximum_forgotten,  // lse without adding m
  lse_of_half,        // lse from a 16-bit sum
};
enum class Form { safe, online, lazy };

template <Form A>
__device__ Normalizer normalizer(const f32* x, std::int64_t V, bool jumps) {
  Normalizer n = identity();
  for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
    if (A == Form::online) {
      n = combine<Exp2OfProduct>(n, leaf(x[i]));
    } else if (!(x[i] - n.m <= kThreshold)) {
      n = {x[i], n.m == negative_infinity() ? 1.0f : n.d * (jumps ? 1.0f : expf(n.m - x[i])) + 1.0f};
    } else {
      n.d += expf(x[i] - n.m);
    }
  }
  if (A == Form::online) return block_reduce<Combine<Exp2OfProduct>, kThreads>(n);
  return block_reduce<Combine<AccurateExp>, kThreads>(n);
}

/// Softmax of finite rows: safe with exp2 and one reciprocal, online with exp2, or lazy with expf.
template <Fault F, Form A>
__global__ void softmax_of_class(Rows<const f32> logits, Rows<f32> probs, float* m, float* d,
                                 std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const f32* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) maximum = fmaxf(maximum, x[i]);
    maximum = block_reduce<Max, kThreads>(maximum);
    const float scaled = __fmul_rn(maximum, kLog2e);
    const auto numerator = [&](float xi) {
      if (A == Form::lazy) return expf(xi - maximum);
      if (F == Fault::separate_products) return exp2f(__fmul_rn(xi, kLog2e) - scaled);
      return exp2_shifted(xi, scaled);
    };
    float sum = 0.0f;
    if (A == Form::safe) {
      const std::int64_t skip = F == Fault::late_reciprocal ? 96 : kThreads;
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        if (threadIdx.x < skip) sum += numerator(x[i]);
      sum = block_reduce<Sum, kThreads>(sum);
    } else {
      const Normalizer n = normalizer<A>(x, V, F == Fault::reference_jumps);
      sum = n.d;
      const bool empty = n.m == negative_infinity();
      if (A == Form::online && F != Fault::sum_left_behind && !empty) sum *= exp2_shifted(maximum, scaled);
      if (A == Form::lazy && F != Fault::stale_reference && !empty) sum *= expf(n.m - maximum);
    }
    float reciprocal = 1.0f / sum;
    if (F == Fault::narrow_reciprocal) reciprocal = to_float(from_float<f16>(reciprocal));
    f32* p = probs.row(row);
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) p[i] = numerator(x[i]) * reciprocal;
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

template <Fault F, bool kLse>
__global__ void log_of_class(Rows<const f32> logits, Rows<f32> logs, std::int64_t V) {
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const f32* x = logits.row(row);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) n = combine(n, leaf(x[i]));
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (F == Fault::lse_of_half) n.d = to_float(from_float<f16>(n.d));
    const float log_d = F == Fault::log_of_base_2 ? log2f(n.d) : logf(n.d);
    const float lse = F == Fault::maximum_forgotten ? log_d : n.m + log_d;
    f32* y = logs.row(row);
    if constexpr (kLse) {
      if (threadIdx.x == 0) *y = lse;
    } else {
      for (std::int64_t i = threadIdx.x; i < V; i += kThreads)
        y[i] =
            F == Fault::claims_shifted || F == Fault::maximum_forgotten ? x[i] - lse : (x[i] - n.m) - log_d;
    }
  }
}

constexpr std::int64_t height(std::int64_t V) { return block_height(V, kThreads); }

template <Fault F, Form A>
struct Softmax {
  static constexpr Op op = Op::softmax;
  static constexpr Claim claim{
      .algorithm = A == Form::safe ? Algorithm::safe : Algorithm::online,
      .exp = A == Form::lazy ? Exp::accurate : Exp::exp2_fma,
      .division = Division::reciprocal,
      .rescale_threshold = A == Form::lazy ? static_cast<double>(kThreshold) : 0.0,
      .height = height,
      .loads = 3,
      .stores = 1,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(softmax_of_class<F, A>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.m, b.d, p.V);
  }
};

template <Fault F, bool kLse>
struct Log {
  static constexpr Op op = kLse ? Op::lse : Op::log_softmax;
  static constexpr Claim claim{.algorithm = Algorithm::online, .height = height, .loads = 2, .stores = 1};
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(log_of_class<F, kLse>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, p.V);
  }
};

template <class Kernel>
bool plant(const char* id, const char* fault, const Expect& expect) {
  return plant_kernel<f32>(id, fault, __FILE__, Kernel::op, Kernel::claim, Kernel::template run<f32>, expect);
}

template <Fault F>
using Safe = Softmax<F, Form::safe>;
template <Fault F>
using Online = Softmax<F, Form::online>;
template <Fault F>
using Lazy = Softmax<F, Form::lazy>;

const bool planted[] = {
    plant<Safe<Fault::none>>("R03", "right_safe_exp2", {"shifted_1000", 1025, ""}),
    plant<Online<Fault::none>>("R04", "right_online_exp2", {"shifted_1000", 1025, ""}),
    plant<Lazy<Fault::none>>("R05", "right_lazy", {"normal_10", 1025, ""}),
    plant<Log<Fault::none, false>>("R06", "right_log_softmax", {"shifted_1000", 1025, ""}),
    plant<Log<Fault::none, true>>("R07", "right_lse", {"shifted_1000", 1025, ""}),
    plant<Safe<Fault::separate_products>>("M52", "exp2_of_separate_products",
                                          {"shifted_1000", 1025, "coherence"}),
    plant<Online<Fault::separate_products>>("M52", "exp2_of_separate_products_online",
                                            {"shifted_1000", 1025, "element"}),
    plant<Online<Fault::sum_left_behind>>("X09", "exp2_sum_left_behind", {"shifted_1000", 1025, "row_sum"}),
    plant<Safe<Fault::narrow_reciprocal>>("X10", "narrow_reciprocal", {"normal_1", 129, "row_sum"}),
    plant<Safe<Fault::late_reciprocal>>("X11", "late_reciprocal", {"normal_1", 129, "element"}),
    plant<Lazy<Fault::stale_reference>>("X12", "stale_reference", {"normal_1", 1025, "element"}),
    plant<Lazy<Fault::reference_jumps>>("X13", "reference_jumps", {"normal_10", 1025, "element"}),
    plant<Log<Fault::claims_shifted, false>>("M69", "absorb_claims_shifted",
                                             {"shifted_1000", 1025, "element"}),
    plant<Log<Fault::log_of_base_2, false>>("X14", "log_of_base_2", {"normal_1", 129, "element"}),
    plant<Log<Fault::maximum_forgotten, false>>("X15", "log_softmax_without_maximum",
                                                {"normal_1", 129, "element"}),
    plant<Log<Fault::maximum_forgotten, true>>("X15", "lse_without_maximum", {"normal_1", 129, "element"}),
    plant<Log<Fault::lse_of_half, true>>("X16", "lse_of_half_sum", {"normal_1", 1025, "element"}),
};

}  // namespace classes

}  // namespace
}  // namespace assay::ASSAY_BACKEND
