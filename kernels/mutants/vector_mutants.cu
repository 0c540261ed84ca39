// SPDX-License-Identifier: Apache-2.0
// Faults of vectorised loops, of their tails, and at the edges of dispatch. Safe softmax of a row in groups
// of four and a tail; the initial value of the maximum may be wrong as well.
#include "kernels/mutants/plant.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

constexpr int kThreads = 128;
constexpr int kVec = 4;

enum class Fault {
  none,
  no_max,
  no_max_in_vectors,
  max_from_flt_min,
  max_from_minus_1e4,
  max_from_minus_flt_max,
  max_is_first,
  max_of_even_vectors,
  max_includes_padding,
  sum_includes_padding,
  sum_skips_tail,
  tail_counted_twice,
  stores_whole_vectors,
  reads_whole_vectors,
  padding_times_zero,
  out_pitch_ignored,
  partial_warp_lost,
  shuffle_of_missing_lanes,
  threshold_off_by_one,
  long_path_unreachable,
  index_of_16_bits,
  rows_of_16_bits,
  maximum_of_block,
  maximum_counted_twice,
  short_rows_are_floats,
  max_reads_past_end,
  sum_of_256_chunks,
};

__device__ float first_maximum(Fault f) {
  if (f == Fault::max_from_flt_min) return 0x1p-126f;
  if (f == Fault::max_from_minus_1e4) return -1e4f;
  if (f == Fault::max_from_minus_flt_max) return -0x1.fffffep127f;
  return negative_infinity();
}

template <class T>
__global__ void vector_softmax(Fault f, Rows<const T> logits, Rows<T> probs, float* m, float* d,
                               std::int64_t length) {
  const std::int64_t rows = f == Fault::rows_of_16_bits && logits.count > 65535 ? 65535 : logits.count;
  float before = negative_infinity();
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = logits.row(row);
    // Takes the path for short rows for rows that are too long.
    std::int64_t V = length;
    if (f == Fault::threshold_off_by_one && V == 1024) V = 1023;
    if (f == Fault::long_path_unreachable && V > 4096) V = 4096;
    const std::int64_t vectors = V / kVec, thread = threadIdx.x;
    const std::int64_t tail =
        f == Fault::tail_counted_twice && V % kVec == 0 ? V - 1 : vectors * kVec + thread;
    const bool has_tail = tail < V && (tail >= vectors * kVec || thread == 0);
    const auto at = [=](std::int64_t i) {
      if (f == Fault::short_rows_are_floats && V <= 32) {
        float y;
        memcpy(&y, reinterpret_cast<const char*>(x) + 4 * i, sizeof y);
        return y;
      }
      return to_float(x[f == Fault::index_of_16_bits ? static_cast<std::uint16_t>(i) : i]);
    };

    float maximum = first_maximum(f);
    for (std::int64_t v = thread; v < vectors; v += kThreads)
      for (int j = 0; j < kVec; ++j)
        if (!(f == Fault::max_of_even_vectors && v % 2 == 1)) maximum = fmaxf(maximum, at(v * kVec + j));
    if (has_tail) maximum = fmaxf(maximum, at(tail));
    if (f == Fault::max_includes_padding && V % kVec != 0) maximum = fmaxf(maximum, 0.0f);
    if (f == Fault::shuffle_of_missing_lanes && thread < 32 && thread >= V) maximum = 0.0f;
    if (f == Fault::max_reads_past_end && thread == 0) maximum = fmaxf(maximum, to_float(x[V]));
    maximum = block_reduce<Max, kThreads>(maximum);
    if (f == Fault::no_max) maximum = 0.0f;
    if (f == Fault::max_is_first) maximum = at(0);
    if (f == Fault::maximum_of_block) maximum = before = fmaxf(before, maximum);

    const bool masks_by_value = f == Fault::max_from_minus_flt_max;
    const auto term = [=](std::int64_t i, bool in_vector, bool summing) {
      if (f == Fault::sum_of_256_chunks && summing && i >= 256 * 1024) return 0.0f;
      const float xi = masks_by_value ? fmaxf(at(i), -0x1.fffffep127f) : at(i);
      return expf(f == Fault::no_max_in_vectors && in_vector ? xi : xi - maximum);
    };
    float sum = 0.0f;
    for (std::int64_t v = thread; v < vectors; v += kThreads)
      for (int j = 0; j < kVec; ++j) sum += term(v * kVec + j, true, true);
    if (has_tail && f != Fault::sum_skips_tail) sum += term(tail, false, true);
    if (f == Fault::sum_includes_padding && thread == 0 && V % kVec != 0)
      sum += static_cast<float>(kVec - V % kVec) * expf(0.0f - maximum);
    if (thread == 0 && V % kVec != 0)
      for (std::int64_t i = V; i < (vectors + 1) * kVec; ++i) {
        if (f == Fault::padding_times_zero) sum += 0.0f * to_float(x[i]);
        if (f == Fault::reads_whole_vectors) sum += to_float(x[i]) == 12345.0f ? 0.0f : -0.0f;
      }
    const std::int64_t warps = vectors / 32 > 1 ? vectors / 32 : 1;
    if (f == Fault::partial_warp_lost && vectors < kThreads && thread / 32 >= warps) sum = 0.0f;
    sum = block_reduce<Sum, kThreads>(sum);
    if (f == Fault::maximum_counted_twice) sum += 1.0f;

    T* p = f == Fault::out_pitch_ignored ? probs.base + row * V : probs.row(row);
    for (std::int64_t v = thread; v < vectors; v += kThreads)
      for (int j = 0; j < kVec; ++j) p[v * kVec + j] = from_float<T>(term(v * kVec + j, true, false) / sum);
    const std::int64_t end = f == Fault::stores_whole_vectors && V % kVec != 0 ? (vectors + 1) * kVec : V;
    for (std::int64_t i = vectors * kVec + thread; i < end; i += kThreads)
      p[i] = i < V ? from_float<T>(term(i, false, false) / sum) : from_float<T>(0.0f);
    if (m && thread == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

constexpr Claim kClaim{
    .algorithm = Algorithm::safe,
    .height = [](std::int64_t V) { return block_height(V, kThreads) + kVec + 1; },
    .loads = 3,
    .stores = 1,
};

template <class T = f32>
bool plant(const char* id, const char* fault, Fault f, const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Op::softmax, kClaim, softmax_by(vector_softmax<T>, kThreads, f),
                         expect);
}

constexpr const char* kPageEnd = "discarded on the spot: only a page that is not there sees it";

const bool planted[] = {
    plant("R12", "vector_none", Fault::none, {"normal_1", 1027, ""}),
    plant("M01", "no_max", Fault::no_max, {"overflow", 129, "element"}),
    plant("M01", "no_max_near", Fault::no_max, {"normal_1", 129, "normalizer"}),
    plant("M02", "no_max_in_vectors", Fault::no_max_in_vectors, {"overflow", 130, "element"}),
    plant("M04", "max_from_flt_min", Fault::max_from_flt_min, {"far_below", 33, "element"}),
    plant("M05", "max_from_minus_1e4", Fault::max_from_minus_1e4, {"far_below", 33, "element"}),
    plant("M08", "max_from_minus_flt_max", Fault::max_from_minus_flt_max, {"all_neg_inf", 33, "special"}),
    plant("M10", "max_is_first", Fault::max_is_first, {"first_small", 129, "element"}),
    plant("M12", "max_of_even_vectors", Fault::max_of_even_vectors, {"vector_maxima", 1025, "element"}),
    plant("M15", "max_includes_padding", Fault::max_includes_padding, {"far_below", 33, "element"}),
    plant("M16", "sum_includes_padding", Fault::sum_includes_padding, {"far_below", 33, "element"}),
    plant("M16", "sum_includes_padding_near", Fault::sum_includes_padding, {"normal_1", 33, "row_sum"}),
    plant("M17", "sum_skips_tail", Fault::sum_skips_tail, {"constant", 1027, "row_sum"}),
    plant("M18", "tail_counted_twice", Fault::tail_counted_twice, {"constant", 1024, "row_sum"}),
    plant("M21", "stores_whole_vectors", Fault::stores_whole_vectors, {"normal_1", 33, "guard"}),
    plant("M22", "reads_whole_vectors", Fault::reads_whole_vectors,
          {.check = "launch", .group = "layout", .setup = "page_end", .why = kPageEnd}),
    plant("M76", "padding_times_zero", Fault::padding_times_zero, {"normal_1", 33, "element"}),
    plant("M24", "out_pitch_ignored", Fault::out_pitch_ignored, {"normal_1", 129, "guard"}),
    plant("M27", "partial_warp_lost", Fault::partial_warp_lost, {"normal_1", 255, "row_sum"}),
    plant("M28", "shuffle_of_missing_lanes", Fault::shuffle_of_missing_lanes, {"far_below", 17, "element"}),
    plant("M97", "threshold_off_by_one", Fault::threshold_off_by_one, {"normal_1", 1024, "written"}),
    plant("M96", "long_path_unreachable", Fault::long_path_unreachable, {"normal_1", 4099, "written"}),
    plant<f16>("M67", "short_rows_are_floats_f16", Fault::short_rows_are_floats, {"normal_1", 17, "element"}),
    plant("X21", "index_of_16_bits", Fault::index_of_16_bits, {"long_tail", 128256, "element"}),
    plant("X22", "rows_of_16_bits", Fault::rows_of_16_bits,
          {.V = 7, .check = "written", .rows = 65537, .group = "rows"}),
    plant("X43", "max_reads_past_end", Fault::max_reads_past_end,
          {.check = "element", .group = "layout", .setup = "guard_finite"}),
    plant("X23", "maximum_of_block", Fault::maximum_of_block, {"far_below", 33, "element", 5, 7}),
    plant("X50", "sum_of_256_chunks", Fault::sum_of_256_chunks,
          {.V = 300007, .check = "row_sum", .rows = 1, .group = "shapes"}),
    plant("X24", "maximum_counted_twice", Fault::maximum_counted_twice, {"normal_1", 129, "row_sum"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
