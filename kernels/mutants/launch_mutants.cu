// SPDX-License-Identifier: Apache-2.0
// Faults that lie between launches, or that a single launch on ordinary buffers does not show.
#include <chrono>
#include <thread>

#include "kernels/mutants/stateful.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

// Faults that a single launch on ordinary buffers does not show: offsets that wrap around, state kept from
// the first call, scratch memory shared by streams, the wrong stream, wrong chunks, grids and shared memory
// beyond their limits, outputs written over the inputs.
namespace launches {

#if defined(__CUDACC__)
__device__ float shared_scratch[2 * 65536];
#else
float shared_scratch[2 * 65536];
#endif

__global__ void plain(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) plain_row(k, row);
}

/// Row number in grid.y, whose limit is 65535.
__global__ void rows_in_grid_y(Plain k) {
  for (std::int64_t row = blockIdx.y; row < k.logits.count; row += gridDim.y) plain_row(k, row);
}

enum class Width { i32, u32, i64 };
__device__ std::int64_t narrow(Width w, std::int64_t offset) {
  if (w == Width::i64) return offset;
  const auto low = static_cast<std::uint32_t>(offset);
  return w == Width::i32 ? static_cast<std::int64_t>(static_cast<std::int32_t>(low))
                         : static_cast<std::int64_t>(low);
}
__global__ void narrow_offsets(Width w, Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    Plain one = k;
    one.logits.base = k.logits.base + narrow(w, row * k.logits.pitch) - row * k.logits.pitch;
    plain_row(one, row);
  }
}
/// Counts the columns of a row in 32 bits. These are enough threads for a row of 2^32 within seconds.
constexpr int kManyThreads = 1024;
__global__ void narrow_columns(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    const float* x = k.logits.row(row);
    float* p = k.probs.row(row);
    const auto at = [](std::int64_t i) { return narrow(Width::u32, i); };
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < k.V; i += kManyThreads) maximum = fmaxf(maximum, x[at(i)]);
    maximum = block_reduce<Max, kManyThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < k.V; i += kManyThreads) sum += expf(x[at(i)] - maximum);
    sum = block_reduce<Sum, kManyThreads>(sum);
    for (std::int64_t i = threadIdx.x; i < k.V; i += kManyThreads) p[at(i)] = expf(x[at(i)] - maximum) / sum;
    if (k.m && threadIdx.x == 0) {
      k.m[row] = maximum;
      k.d[row] = sum;
    }
  }
}

/// Passes the row's maximum and sum through memory that all streams share.
__global__ void to_scratch(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    const float* x = k.logits.row(row);
    const float maximum = maximum_of(x, k.V);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) sum += expf(x[i] - maximum);
    sum = block_reduce<Sum, kStateThreads>(sum);
    if (threadIdx.x == 0) {
      shared_scratch[2 * (row % 65536)] = maximum;
      shared_scratch[2 * (row % 65536) + 1] = sum;
    }
  }
}
__global__ void from_scratch(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    const float maximum = shared_scratch[2 * (row % 65536)], sum = shared_scratch[2 * (row % 65536) + 1];
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads)
      k.probs.row(row)[i] = expf(k.logits.row(row)[i] - maximum) / sum;
    if (k.m && threadIdx.x == 0) {
      k.m[row] = maximum;
      k.d[row] = sum;
    }
  }
}

/// Keeps the whole row in shared memory, whatever its length.
__global__ void row_in_shared_memory(Plain k) {
  ASSAY_DYNAMIC_SHARED(float, copy);
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) copy[i] = k.logits.row(row)[i];
    __syncthreads();
    Plain from_copy = k;
    from_copy.logits.base = copy - row * k.logits.pitch;
    plain_row(from_copy, row);
    __syncthreads();
  }
}

/// Stores numerators into the outputs, then reads the logits again.
__global__ void early_write(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    const float* x = k.logits.row(row);
    float* p = k.probs.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) maximum = fmaxf(maximum, x[i]);
    maximum = block_reduce<Max, kStateThreads>(maximum);
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) {
      p[i] = expf(x[i] - maximum);
      sum += p[i];
    }
    sum = block_reduce<Sum, kStateThreads>(sum);
    for (std::int64_t i = threadIdx.x; i < k.V; i += kStateThreads) p[i] = expf(x[i] - maximum) / sum;
    if (k.m && threadIdx.x == 0) {
      k.m[row] = maximum;
      k.d[row] = sum;
    }
  }
}

/// Uses a vector load at any alignment.
__global__ void wide_loads(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) {
    if (threadIdx.x == 0 && k.V >= 4) {
      const float4 v = *reinterpret_cast<const float4*>(k.logits.row(row));
      if (v.x + v.y + v.z + v.w == 12345.0f) k.factor = 2.0f;
    }
    plain_row(k, row);
  }
}

unsigned blocks(const Problem& p, const Stream& s) { return grid_for(p.rows, s); }
void start(const Plain& k, const Problem& p, const Stream& s) {
  launch(plain, blocks(p, s), kStateThreads, 0, s, k);
}

template <class Run>
bool plant(const char* id, const char* fault, Run run, const Expect& expect, bool in_place = false) {
  Claim claim = kPlainClaim;
  claim.in_place = in_place;
  return plant_kernel<float>(id, fault, __FILE__, Op::softmax, claim, run, expect);
}

void chunks_advance_by_rows(const Problem& p, const Buffers& b, const Stream& s) {
  constexpr std::int64_t kChunk = 2;
  Plain k = plain_of(p, b);
  for (std::int64_t row = 0; row < p.rows; row += kChunk) {
    k.logits.count = p.rows - row < kChunk ? p.rows - row : kChunk;
    start(k, p, s);
    k.logits.base += kChunk * p.in_pitch;
    k.probs.base += kChunk;  // elements instead of rows
    if (k.m) k.m += kChunk, k.d += kChunk;
  }
}

void length_of_first_call(const Problem& p, const Buffers& b, const Stream& s) {
  static const std::int64_t longest = p.V < 1024 ? 1024 : p.V;  // "configured once"
  Plain k = plain_of(p, b);
  if (p.V > longest) k.summed = longest;
  start(k, p, s);
}

/// Like a counter for rows processed in pairs that is not reset after an odd number of rows.
void counter_of_pairs(const Problem& p, const Buffers& b, const Stream& s) {
  static bool left = false;
  Plain k = plain_of(p, b);
  if (p.rows > 528) {
    if (left) k.summed = p.V - 1;
    left = p.rows % 2 == 1;
  }
  start(k, p, s);
}

void order_of_batch(const Problem& p, const Buffers& b, const Stream& s) {
  Plain k = plain_of(p, b);
  k.backwards = p.rows == 1;
  start(k, p, s);
}

constexpr const char* kStreams = "the executor has one stream";
constexpr const char* kAlignment = "an x86 host loads a misaligned vector, or stops the process";

template <void (*kKernel)(Plain)>
void start_one(const Problem& p, const Buffers& b, const Stream& s) {
  launch(kKernel, blocks(p, s), kStateThreads, 0, s, plain_of(p, b));
}
template <Width W>
void start_narrow(const Problem& p, const Buffers& b, const Stream& s) {
  launch(narrow_offsets, blocks(p, s), kStateThreads, 0, s, W, plain_of(p, b));
}
/// Wrong only on the path for long rows.
void start_narrow_long(const Problem& p, const Buffers& b, const Stream& s) {
  launch(narrow_offsets, blocks(p, s), kStateThreads, 0, s, p.V > 4096 ? Width::i32 : Width::i64,
         plain_of(p, b));
}
void start_grid_y(const Problem& p, const Buffers& b, const Stream& s) {
  launch(rows_in_grid_y, dim3(1, static_cast<unsigned>(p.rows)), kStateThreads, 0, s, plain_of(p, b));
}
void start_scratch(const Problem& p, const Buffers& b, const Stream& s) {
  launch(to_scratch, blocks(p, s), kStateThreads, 0, s, plain_of(p, b));
#if !defined(__CUDACC__)
  // Like a pause between two launches on a busy machine.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
#endif
  launch(from_scratch, blocks(p, s), kStateThreads, 0, s, plain_of(p, b));
}
void start_unchecked(const Problem& p, const Buffers& b, const Stream& s) {
  launch(row_in_shared_memory, blocks(p, s), kStateThreads, static_cast<std::size_t>(p.V) * sizeof(float), s,
         plain_of(p, b));
}
void start_on_default_stream(const Problem& p, const Buffers& b, const Stream& s) {
  start(plain_of(p, b), p, Stream{nullptr, s.max_blocks});
}

void start_columns(const Problem& p, const Buffers& b, const Stream& s) {
  launch(narrow_columns, blocks(p, s), kManyThreads, 0, s, plain_of(p, b));
}
/// With 1024 elements per row, beyond 2^32 elements.
constexpr std::int64_t kBigRows = (std::int64_t{1} << 22) + 3;
/// With rows of this V, beyond 2^31 too.
constexpr std::int64_t kLongV = 8200;

const bool planted[] = {
    plant("R17", "launch_none", start_one<plain>, {"normal_1", 1025, ""}),
    plant("M84", "shared_scratch", start_scratch,
          {.check = "element", .group = "streams", .setup = "two_at_once"}),
    plant("M85", "default_stream", start_on_default_stream,
          {.check = "element",
           .group = "streams",
           .setup = "delayed_producer",
           .only = "cuda",
           .why = kStreams}),
    plant("M87", "offset_of_int32", start_narrow<Width::i32>,
          {.V = 1024,
           .check = kBackend == Backend::host ? "launch" : "element",
           .rows = kBigRows,
           .group = "big",
           // The memory 8 GB before a buffer may belong to another buffer, or to none.
           .or_check = kBackend == Backend::host ? "" : "launch"}),
    plant("X51", "offset_of_int32_in_long_rows", start_narrow_long,
          {.V = kLongV,
           .check = kBackend == Backend::host ? "launch" : "element",
           .rows = (std::int64_t{1} << 31) / kLongV + 3,
           .group = "big",
           .or_check = kBackend == Backend::host ? "" : "launch"}),
    plant("M89", "offset_of_uint32", start_narrow<Width::u32>,
          {.V = 1024, .check = "element", .rows = kBigRows, .group = "big"}),
    plant("X44", "columns_of_uint32", start_columns,
          {.V = (std::int64_t{1} << 32) + 3,
           .check = "element",
           .rows = 1,
           .group = "big",
           .only = "cuda",
           .why = "one row of 2^32 columns takes the executor minutes"}),
    plant("M91", "chunks_advance_by_rows", chunks_advance_by_rows, {"normal_1", 129, "written"}),
    plant("M95", "row_in_shared_memory", start_unchecked, {"normal_1", 128256, "launch"}),
    plant("M98", "early_write", start_one<early_write>,
          {.check = "element", .group = "layout", .setup = "in_place"}, true),
    plant("M68", "length_of_first_call", length_of_first_call,
          {.check = "element", .group = "calls", .setup = "small_large_small"}),
    plant("X55", "counter_of_pairs", counter_of_pairs,
          {.V = 37, .check = "element", .rows = 1057, .group = "calls", .setup = "rows_again"}),
    plant("A88", "wide_loads", start_one<wide_loads>,
          {.check = "launch", .group = "layout", .setup = "offset_4", .only = "cuda", .why = kAlignment}),
    plant("A104", "rows_in_grid_y", start_grid_y,
          {.V = 7, .check = "launch", .rows = 65536, .group = "rows"}),
    plant("X42", "order_of_batch", order_of_batch, {.check = "batch", .group = "batch"}),
};

}  // namespace launches

// Faults between calls and after them: a table that one type fills and another reads, and a result that
// changes after the launch is complete.
namespace state {

/// Adds `whole` vectors of 16 bytes, then the tail.
template <class T>
__global__ void in_vectors(Rows<const T> logits, Rows<T> probs, float* m, float* d, std::int64_t V,
                           std::int64_t whole) {
  constexpr std::int64_t kWidth = 16 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t row = blockIdx.x; row < logits.count; row += gridDim.x) {
    const T* x = logits.row(row);
    float maximum = negative_infinity();
    for (std::int64_t i = threadIdx.x; i < V; i += kStateThreads) maximum = fmaxf(maximum, to_float(x[i]));
    maximum = block_reduce<Max, kStateThreads>(maximum);
    const std::int64_t body = whole * kWidth < V ? whole * kWidth : V;
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < body; i += kStateThreads) sum += expf(to_float(x[i]) - maximum);
    for (std::int64_t i = V - V % kWidth + threadIdx.x; i < V; i += kStateThreads)
      sum += expf(to_float(x[i]) - maximum);
    sum = block_reduce<Sum, kStateThreads>(sum);
    for (std::int64_t i = threadIdx.x; i < V; i += kStateThreads)
      probs.row(row)[i] = from_float<T>(expf(to_float(x[i]) - maximum) / sum);
    if (m && threadIdx.x == 0) {
      m[row] = maximum;
      d[row] = sum;
    }
  }
}

/// Number of whole vectors in a row of V. The first caller fills the table, with its own vector width.
std::int64_t whole_vectors(std::int64_t V, std::int64_t width) {
  constexpr std::int64_t kTable = 4096;
  static std::int64_t table[kTable];  // holds the number + 1; 0: not known yet
  if (V >= kTable) return V / width;
  if (table[V] == 0) table[V] = V / width + 1;
  return table[V] - 1;
}

template <class T>
void table_by_length(const Problem& p, const Buffers& b, const Stream& s) {
  launch(in_vectors<T>, grid_for(p.rows, s), kStateThreads, 0, s, logits_of<T>(p, b), values_of<T>(p, b), b.m,
         b.d, p.V, whole_vectors(p.V, 16 / static_cast<std::int64_t>(sizeof(T))));
}

__global__ void honest(Plain k) {
  for (std::int64_t row = blockIdx.x; row < k.logits.count; row += gridDim.x) plain_row(k, row);
}

#if defined(__CUDACC__)
__global__ void spoil_later(float* p) {
  for (const long long start = clock64(); clock64() - start < 20000000;) {
  }
  *p = 0.25f;
}
#endif

/// Right when the launch is complete. Then its first output changes.
void writes_again(const Problem& p, const Buffers& b, const Stream& s) {
  launch(honest, grid_for(p.rows, s), kStateThreads, 0, s, plain_of(p, b));
  float* const first = static_cast<float*>(b.probs);
  if (!first) return;
#if defined(__CUDACC__)
  static cudaStream_t own = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  cudaEvent_t written = nullptr;
  cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
  cudaEventRecord(written, static_cast<cudaStream_t>(s.handle));
  cudaStreamWaitEvent(own, written, 0);
  spoil_later<<<1, 1, 0, own>>>(first);
  cudaEventDestroy(written);
#else
  std::thread([first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(15));
    *first = 0.25f;
  }).detach();
#endif
}

template <class T>
bool plant(const char* id, const char* fault, void (*run)(const Problem&, const Buffers&, const Stream&),
           const Expect& expect) {
  return plant_kernel<T>(id, fault, __FILE__, Op::softmax, kPlainClaim, run, expect);
}

constexpr Expect kByType{.check = "element", .group = "calls", .setup = "dtype_order"};

const bool planted[] = {
    plant<f32>("X46", "table_by_length", table_by_length<f32>, kByType),
    plant<f16>("X46", "table_by_length", table_by_length<f16>, kByType),
    plant<f32>("X47", "writes_again", writes_again,
               {.check = "late_write", .group = "streams", .setup = "late_write"}),
};

}  // namespace state

}  // namespace
}  // namespace assay::ASSAY_BACKEND
