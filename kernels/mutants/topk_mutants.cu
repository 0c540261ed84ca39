// SPDX-License-Identifier: Apache-2.0
// Faults in fused softmax + top-k, planted one at a time into online_topk_block's shape.
#include "kernels/building_blocks/topk.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 64;

enum class Fault {
  none,
  short_lists,
  k_is_v,
  skips_tail,
  larger_index,
  half_lists,
  running_maximum,
  unsorted,
  pad_index,
  off_by_one,
  column_65535_is_none
};

template <Fault F, class T>
__global__ void mutant(Rows<const T> logits, Rows<T> values, void* indices, float* m, float* d, int k,
                       bool wide, std::int64_t V) {
  ThreadList list;
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    list.clear(k);
    Normalizer n = identity();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float xi = to_float(x[i]);
      n = combine(n, leaf(xi));
      if (F == Fault::skips_tail && i >= V / 4 * 4) continue;
      if (F == Fault::column_65535_is_none && i == 65535) continue;
      const long long at = F == Fault::larger_index ? V - 1 - i : F == Fault::off_by_one ? i + 1 : i;
      if (F == Fault::k_is_v && k == V) continue;
      list.insert(F == Fault::larger_index ? to_float(x[V - 1 - i]) : xi, F == Fault::larger_index ? -at : at,
                  F == Fault::short_lists && k > 8 ? 8 : k);
    }
    if (F == Fault::half_lists)
      for (int j = (k + 1) / 2; j < k; ++j) {
        list.key[j] = kNoKey;
        list.index[j] = kNoIndex;
      }
    const Normalizer own = n;
    n = block_reduce<Combine<AccurateExp>, kThreads>(n);
    if (F == Fault::running_maximum) n.d = own.d;
    write_best<kThreads>(list, k, values.row(row), indices, row * values.pitch, wide, [=](long long i) {
      return from_float<T>(expf(to_float(x[F == Fault::off_by_one     ? (i - 1)
                                           : F == Fault::larger_index ? -i
                                                                      : i]) -
                                n.m) /
                           n.d);
    });
    if (threadIdx.x == 0) {
      int* index = static_cast<int*>(indices) + row * values.pitch;
      if (F == Fault::larger_index)
        for (int j = 0; j < k && j < V; ++j) index[j] = -index[j];
      if (F == Fault::pad_index)
        for (int j = 0; j < k; ++j)
          if (index[j] < 0) index[j] = static_cast<int>(V);
      if (F == Fault::unsorted && k > 1) {
        const int first = index[0];
        index[0] = index[1];
        index[1] = first;
        const T p = values.row(row)[0];
        values.row(row)[0] = values.row(row)[1];
        values.row(row)[1] = p;
      }
      if (m) {
        m[row] = n.m;
        d[row] = n.d;
      }
    }
  }
}

template <Fault F>
struct Topk {
  static constexpr Op op = Op::softmax_topk;
  static constexpr int max_k = kMaxK;
  static constexpr Claim claim{
      .algorithm = Algorithm::online,
      .height = [](std::int64_t V) { return block_height(V, kThreads); },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 1,
  };
  template <class T>
  static void run(const Problem& p, const Buffers& b, const Stream& stream) {
    launch(mutant<F, T>, grid_for(p.rows, stream), kThreads, 0, stream,
           Rows<const T>{static_cast<const T*>(b.logits), p.rows, p.in_pitch},
           Rows<T>{static_cast<T*>(b.probs), p.rows, p.out_pitch}, b.indices, b.m, b.d, p.k,
           p.index_bytes() == 8, p.V);
  }
};

template <Fault F>
bool plant(const char* id, const char* fault, const Expect& expect) {
  return plant_kernel<f32>(id, fault, __FILE__, Topk<F>::op, Topk<F>::claim, Topk<F>::template run<f32>,
                           expect, kMaxK);
}

const bool planted[] = {
    plant<Fault::none>("R02", "topk_none", {"normal_1", 1025, ""}),
    plant<Fault::short_lists>("M103", "topk_short_lists", {"clustered_top", 4099, "order", 64}),
    plant<Fault::k_is_v>("M116", "topk_k_is_v", {"normal_1", 33, "indices", 33}),
    plant<Fault::skips_tail>("M102", "topk_skips_tail", {"ramp_1e4", 1023, "order"}),
    plant<Fault::larger_index>("X07", "topk_larger_index", {"ties", 1025, "order"}),
    plant<Fault::half_lists>("M103", "topk_half_lists", {"clustered_top", 1025, "order"}),
    plant<Fault::running_maximum>("M111", "topk_running_maximum", {"normal_1", 1025, "element"}),
    plant<Fault::unsorted>("M115", "topk_unsorted", {"normal_1", 1025, "order"}),
    plant<Fault::pad_index>("M110", "topk_pad_index", {"normal_1", 2, "indices"}),
    plant<Fault::off_by_one>("X08", "topk_off_by_one", {"normal_1", 1025, "order"}),
    plant<Fault::column_65535_is_none>("X52", "topk_column_65535_is_none",
                                       {.family = "width_edges", .V = 70001, .check = "order", .rows = 8}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
