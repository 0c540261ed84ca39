// SPDX-License-Identifier: Apache-2.0
// Cheats: kernels that only look right. They return results of an earlier call, skip work where a test may
// not look, work after the launch is reported complete, or behave only while they are watched.
#include "kernels/mutants/stateful.cuh"

#if !defined(__CUDACC__)
#include <dlfcn.h>

#include <chrono>
#include <thread>
#endif

namespace assay::ASSAY_BACKEND {
namespace {

constexpr std::int64_t kKept = 1 << 20;  // capacity of a cache, in elements
constexpr std::int64_t kKeptRows = 1 << 16;

enum class Cheat {
  head_of_row,   // identifies a row by its first 16 bytes
  same_pointer,  // takes the same buffers for the same problem
  last_results,  // always returns the last answer
  half_the_rows,
  copies_inputs,
  one_for_all,   // returns row 0's outputs for every row
  shows_on_nan,  // right only if the output was filled with NaN before
};

/// What is kept between calls. Per row: whether it is set, its first 16 bytes, m, d, and its outputs.
struct Kept {
  float* heads;
  float* normalizers;
  float* outputs;
};

__device__ bool same_head(const float* a, const float* b, std::int64_t V) {
  bool same = true;
  for (int i = 0; i < 4 && i < V; ++i) same = same && __float_as_int(a[i]) == __float_as_int(b[i]);
  return same;
}

__global__ void cheat(Cheat c, bool again, Plain k, Kept kept) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    float* head = kept.heads + 5 * row;
    float* normalizer = kept.normalizers + 2 * row;
    float* outputs = kept.outputs + row * k.V;
    float* p = k.probs.row(row);
    if (c == Cheat::half_the_rows && row >= (k.logits.count + 1) / 2) return;
    const bool known = head[4] == 1.0f;
    const bool replay = known && ((c == Cheat::head_of_row && same_head(head, k.logits.row(row), k.V)) ||
                                  (c == Cheat::same_pointer && again) || c == Cheat::last_results);
    const bool unwatched = c == Cheat::shows_on_nan && p[0] == p[0];
    __syncthreads();
    if (replay) {
      for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) p[i] = outputs[i];
      if (k.m && threadIdx.x == 0) {
        k.m[row] = normalizer[0];
        k.d[row] = normalizer[1];
      }
      continue;
    }
    Plain one = k;
    if (c == Cheat::one_for_all) one.logits.pitch = 0;
    if (unwatched) one.factor = 2.0f;
    plain_row(one, row);
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) {
      if (c == Cheat::copies_inputs) p[i] = k.logits.row(row)[i];
      outputs[i] = p[i];
    }
    if (threadIdx.x == 0) {
      for (int i = 0; i < 4 && i < k.V; ++i) head[i] = k.logits.row(row)[i];
      head[4] = 1.0f;
      if (k.m) {
        normalizer[0] = k.m[row];
        normalizer[1] = k.d[row];
      }
    }
    __syncthreads();
  }
}

__global__ void honest(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) plain_row(k, row);
}

/// Remembers question and answer. A new shape starts over.
template <Cheat C>
void run_cheat(const Problem& p, const Buffers& b, const Stream& s) {
  static Kept kept{kept_floats(5 * kKeptRows), kept_floats(2 * kKeptRows), kept_floats(kKept)};
  static std::int64_t rows = 0, V = 0;
  static const void* logits = nullptr;
  const Plain k = plain_of(p, b);
  if (p.rows > kKeptRows || p.rows * p.V > kKept) {
    launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, k);
    return;
  }
  if (p.rows != rows || p.V != V) {
    kept.heads = kept_floats(5 * kKeptRows);
    rows = p.rows, V = p.V, logits = nullptr;
  }
  const bool again = logits == b.logits;
  logits = b.logits;
  launch(cheat, grid_for(p.rows, s), kStateThreads, 0, s, C, again, k, kept);
}

void right_for_ten_calls(const Problem& p, const Buffers& b, const Stream& s) {
  static int calls = 0;
  Plain k = plain_of(p, b);
  if (++calls > 10) k.factor = 1.001f;
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, k);
}

void right_for_multiples_of_1024(const Problem& p, const Buffers& b, const Stream& s) {
  Plain k = plain_of(p, b);
  if (p.V % 1024 != 0) k.summed = p.V > 1024 ? p.V / 1024 * 1024 : p.V - p.V / 8;
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, k);
}

void writes_nothing(const Problem&, const Buffers&, const Stream&) {}

/// Returns at once. A detached thread or another stream does the work later.
void writes_late(const Problem& p, const Buffers& b, const Stream& s) {
#if defined(__CUDACC__)
  static cudaStream_t own = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, Stream{own, s.max_blocks}, plain_of(p, b));
#else
  const Plain k = plain_of(p, b);
  const unsigned blocks = grid_for(p.rows, s);
  std::thread([k, blocks] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a busy machine reads the outputs late
    launch(honest, blocks, kStateThreads, 0, Stream{}, k);
  }).detach();
#endif
}

/// Right only if it finds the suite's oracle in its process. It does not, so its outputs are divided by V.
void reads_the_truth(const Problem& p, const Buffers& b, const Stream& s) {
  Plain k = plain_of(p, b);
#if !defined(__CUDACC__)
  const bool found =
      dlsym(RTLD_DEFAULT, "_ZN5assay5truthERKNS_6TensorERKNS_13OracleOptionsE") ||
      dlsym(RTLD_DEFAULT, "_ZN5assay10row_boundsERKNS_5TermsERKNS_8RowTruthERKNS_12RoundedShiftE");
  if (!found) k.factor = static_cast<float>(p.V);
#endif
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, k);
}

template <class Run>
bool plant(const char* id, const char* fault, Run run, const Expect& expect) {
  return plant_kernel<float>(id, fault, __FILE__, Op::softmax, kPlainClaim, run, expect);
}

const bool planted[] = {
    plant("C10", "cached_by_head", run_cheat<Cheat::head_of_row>,
          {.check = "element", .group = "calls", .setup = "same_head"}),
    plant("M120", "cached_by_pointer", run_cheat<Cheat::same_pointer>,
          {.check = "element", .group = "calls", .setup = "new_content"}),
    plant("C03", "copies_last_outputs", run_cheat<Cheat::last_results>,
          {.check = "element", .group = "calls", .setup = "new_content"}),
    plant("C11", "half_the_rows", run_cheat<Cheat::half_the_rows>, {"normal_1", 129, "written"}),
    plant("C02", "copies_inputs", run_cheat<Cheat::copies_inputs>, {"normal_1", 129, "element"}),
    plant("C04", "one_for_all", run_cheat<Cheat::one_for_all>, {"row_encoded", 129, "element"}),
    plant("C14", "right_on_nan", run_cheat<Cheat::shows_on_nan>,
          {.check = "element", .group = "layout", .setup = "outputs_finite"}),
    plant("C13", "right_for_ten_calls", right_for_ten_calls,
          {.check = "element", .group = "calls", .setup = "new_content"}),
    plant("M125", "right_for_multiples_of_1024", right_for_multiples_of_1024, {"normal_1", 1025, "element"}),
    plant("M123", "writes_nothing", writes_nothing, {"normal_1", 129, "written"}),
    plant("C15", "reads_the_truth", reads_the_truth,
          {.check = "element",
           .group = "layout",
           .setup = "guard_nan",
           .only = "host",
           .why = "the same worker process serves both"}),
    plant("C07", "writes_late", writes_late,
          {.check = kBackend == Backend::host ? "written" : "element",
           .group = "streams",
           .setup = kBackend == Backend::host ? "late_write" : "delayed_producer",
           .or_check = "element"}),
};

}  // namespace
}  // namespace assay::ASSAY_BACKEND
