// SPDX-License-Identifier: Apache-2.0
// Faults of a sampler's temperature: softmax and the k largest of logits that a number of each row divides.
// Where every temperature is 1, these kernels are right.
#include "kernels/mutants/next_best.cuh"
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128, kMostSlots = 64;

enum class Fault { none, of_the_first_row, sum_without, value_without, product };

template <class T>
__global__ void tempered_softmax_topk(Fault f, Rows<const T> logits, const float* temperatures,
                                      Rows<T> values, void* indices, float* m_of, float* d_of, int k,
                                      bool wide, std::int64_t V) {
  ASSAY_SHARED(float, sums, kThreads);
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* const x = logits.row(row);
    const float t = temperatures ? temperatures[f == Fault::of_the_first_row ? 0 : row] : 1.0f;
    const auto divided = [&](float distance) { return f == Fault::product ? distance * t : distance / t; };
    const Ranked first = next_best<kThreads>(x, V, {0x7fffffff, -1});
    const float m = first.index == kNoIndex ? 0.0f : to_float(x[first.index]);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const float distance = to_float(x[i]) - m;
      sum += expf(f == Fault::sum_without ? distance : divided(distance));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();  // all sums are there
    float d = 0.0f;
    for (int i = 0; i < kThreads; ++i) d += sums[i];
    if (m_of && threadIdx.x == 0) {
      m_of[row] = divided(m);
      d_of[row] = d;
    }
    Ranked last{0x7fffffff, -1};  // ranks before all
    for (int slot = 0; slot < k; ++slot) {
      last = next_best<kThreads>(x, V, last);
      const bool none = last.index == kNoIndex;
      if (threadIdx.x == 0) {
        store_index(indices, row * values.pitch + slot, none ? -1 : last.index, wide);
        const float distance = none ? 0.0f : to_float(x[last.index]) - m;
        const float e = expf(f == Fault::value_without ? distance : divided(distance));
        values.row(row)[slot] = from_float<T>(none ? 0.0f : e / d);
      }
      if (none) last = {kNoKey, kNoIndex};
    }
    __syncthreads();  // the sums have been read
  }
}

bool plant(const char* id, const char* fault, Fault f, const char* check) {
  constexpr Claim claim{
      .algorithm = Algorithm::safe,
      .height = [](std::int64_t V) { return (V + kThreads - 1) / kThreads + kThreads; },
      .select = Select::logits,
      .ties = Ties::smaller_index,
      .loads = 3,
  };
  return plant_kernel<f32>(
      id, fault, __FILE__, Op::softmax_topk, claim,
      [f](const Problem& p, const Buffers& b, const Stream& s) {
        launch(tempered_softmax_topk<f32>, grid_for(p.rows, s), kThreads, 0, s, f, logits_of<f32>(p, b),
               b.temperatures, values_of<f32>(p, b), b.indices, b.m, b.d, p.k, p.index_bytes() == 8, p.V);
      },
      {"normal_3", 129, check, 5, 0, "operands", "ordinary"}, kMostSlots, {.parts = operand::temperatures});
}

const bool planted[] = {
    plant("R47", "temperature_none", Fault::none, ""),
    plant("X98", "temperature_of_the_first_row", Fault::of_the_first_row, "element"),
    plant("X99", "temperature_not_in_the_sum", Fault::sum_without, "element"),
    plant("X100", "temperature_in_the_sum_alone", Fault::value_without, "element"),
    plant("X101", "temperature_multiplied", Fault::product, "element"),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
