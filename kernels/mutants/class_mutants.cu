// SPDX-License-Identifier: Apache-2.0
// One fault for each algorithm class beyond the paper's: the kernel claims the class and only resembles it.
// The right_ kernels are the same without the fault; they must pass where the faults fail.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

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

}  // namespace
}  // namespace assay::ASSAY_BACKEND
