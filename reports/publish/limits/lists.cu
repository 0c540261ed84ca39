// SPDX-License-Identifier: Apache-2.0
// Times the one-read softmax + top-k of the online softmax paper with different lists and loads, to say where
// the times of the sized kernels come from. The blocks are those of the paper's benchmark (V / 16 threads a
// row, 32 to 256), a thread's list lies in registers; what differs is
//   ends_early    a list whose insertion ends at its last slot, one load a turn: the sized kernels as they
//   were four_ahead    the same with four loads ahead: online_topk_block_sized walked        a list that is
//   always walked to its end by swaps, without a branch, one load a turn in the
//                 source. The compiler unrolls its loop
//   walked_ahead  the same with four loads ahead
//   plain_list    a walked list of plain floats, that does not care for NaN and the signs of zeros; four
//   ahead plain_sum     four_ahead with a sum that does not care for NaN and infinities plain         both,
//   one load a turn in the source: the paper's way plain_ahead   the same with four loads ahead
// Columns are compared between them. Prints a JSON line a shape. reports/publish/limits/measure.sh
// compiles and runs it.
#include <cfloat>
#include <cstdint>
#include <string>

#include "kernels/building_blocks/register_topk.cuh"
#include "kernels/building_blocks/sized_reduce.cuh"
#include "reports/publish/limits/timing.cuh"

namespace {

using namespace assay;
using namespace assay::cuda;
using namespace assay::limits;

__global__ void fill(float* x, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    unsigned long long h =
        (static_cast<unsigned long long>(i) + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 27) * 0x94d049bb133111ebull;
    const float u = (static_cast<float>(h >> 40) + 0.5f) * 0x1p-24f,
                v = static_cast<float>(h >> 8 & 0xffffff) * 0x1p-24f;
    x[i] = sqrtf(-2 * logf(u)) * cospif(2 * v);
  }
}

/// The same of plain floats: NaN and the signs of zeros are not cared for, as in the paper's.
template <int K>
struct PlainList {
  float key[K + 1];
  int turn[K + 1];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j <= K; ++j) {
      key[j] = -FLT_MAX;
      turn[j] = -1;
    }
  }
  __device__ __forceinline__ void insert(float x, int at) {
    key[K] = x;
    turn[K] = at;
#pragma unroll
    for (int j = K; j > 0; --j) {
      const bool rises = key[j] > key[j - 1];
      const float k = key[j];
      const int t = turn[j];
      key[j] = rises ? key[j - 1] : k;
      turn[j] = rises ? turn[j - 1] : t;
      key[j - 1] = rises ? k : key[j - 1];
      turn[j - 1] = rises ? t : turn[j - 1];
    }
  }
  __device__ __forceinline__ RegisterList<K> best() const {
    RegisterList<K> list;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      list.key[j] = turn[j] < 0 ? kNoKey : rank_key(key[j]);
      list.turn[j] = turn[j];
    }
    return list;
  }
};

/// K slots and one more. A new element begins in the last one and changes places until it meets one that is
/// no smaller.
template <int K>
struct WalkedList {
  int key[K + 1], turn[K + 1];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j <= K; ++j) {
      key[j] = kNoKey;
      turn[j] = 0;
    }
  }
  __device__ __forceinline__ void insert(float x, int at) {
    key[K] = rank_key(x);
    turn[K] = at;
#pragma unroll
    for (int j = K; j > 0; --j) {
      const bool rises = key[j] > key[j - 1];
      const int k = key[j], t = turn[j];
      key[j] = rises ? key[j - 1] : k;
      turn[j] = rises ? turn[j - 1] : t;
      key[j - 1] = rises ? k : key[j - 1];
      turn[j - 1] = rises ? t : turn[j - 1];
    }
  }
  __device__ __forceinline__ RegisterList<K> best() const {
    RegisterList<K> list;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      list.key[j] = key[j];
      list.turn[j] = turn[j];
    }
    return list;
  }
};
template <int K>
struct EarlyList : RegisterList<K> {
  __device__ __forceinline__ RegisterList<K> best() const { return *this; }
};

/// What one logit adds to (m, d): with care for NaN and infinities, or without.
struct Careful {
  __device__ __forceinline__ static Normalizer add(Normalizer n, float x) {
    return combine<FastExp>(n, leaf(x));
  }
};
struct Plain {
  __device__ __forceinline__ static Normalizer add(Normalizer n, float x) {
    const bool higher = x > n.m;
    const float high = higher ? x : n.m, low = higher ? n.m : x, e = __expf(low - high);
    return {high, higher ? n.d * e + 1.0f : n.d + e};
  }
};

template <int K, class List, class Add, bool kAhead>
__global__ void __launch_bounds__(256)
    one_read(const float* logits, float* values, int* indices, std::int64_t V) {
  const std::int64_t row = blockIdx.x;
  const float* const x = logits + row * V;
  List list;
  list.clear();
  Normalizer n{-FLT_MAX, 0.0f};
  int turn = 0;
  const auto take = [&](float xi) {
    n = Add::add(n, xi);
    list.insert(xi, turn++);
  };
  if constexpr (kAhead) {
    four_ahead(x, V, take);
  } else {
    for (std::int64_t i = threadIdx.x; i < V; i += blockDim.x) take(x[i]);
  }
  n = sized_reduce<Combine<FastExp>>(n);
  const float inverse = __fdividef(1.0f, n.d);
  RegisterList<K> best = list.best();
  write_best_of(best, K, indices, row * K, false, [=](int slot, long long i) {
    values[row * K + slot] = i < 0 ? 0.0f : __expf(x[i] - n.m) * inverse;
  });
}

bool wrong = false;

template <int K>
void measure(const Pool& pool, std::int64_t rows, std::int64_t V) {
  constexpr std::size_t kOutputs = std::size_t{16} << 20;
  const std::size_t one = (static_cast<std::size_t>(rows * V) * 4 + 511) / 512 * 512;
  const auto sets =
      static_cast<int>(std::clamp<std::size_t>(2 * pool.l2 / one + 2, 1, (pool.bytes - kOutputs) / one));
  const auto from = [&](int i) {
    return reinterpret_cast<float*>(pool.base + kOutputs + one * static_cast<std::size_t>(i % sets));
  };
  for (int i = 0; i < sets; ++i) fill<<<1024, 256, 0, stream>>>(from(i), rows * V);
  auto* const values = reinterpret_cast<float*>(pool.base);
  auto* const indices = reinterpret_cast<int*>(pool.base + kOutputs / 2);
  const int threads = paper_threads(V, 16);
  const double guess = static_cast<double>(one) / 1e6 + 4;
  const double read = median_us(
      [&](int i) {
        rig::enqueue_read(stream, from(i), one, reinterpret_cast<unsigned*>(pool.base + kOutputs - 512));
      },
      guess);
  std::printf("{\"kind\":\"lists\",\"dtype\":\"f32\",\"rows\":%lld,\"V\":%lld,\"k\":%d,\"read_us\":%.3f",
              static_cast<long long>(rows), static_cast<long long>(V), K, read);
  std::vector<int> first, got(static_cast<std::size_t>(rows * K));
  const auto time = [&](const char* name, auto kernel) {
    const auto run = [&](int i) {
      kernel<<<static_cast<unsigned>(rows), static_cast<unsigned>(threads), 0, stream>>>(from(i), values,
                                                                                         indices, V);
    };
    run(0);
    must(cudaStreamSynchronize(stream), name);
    must(cudaMemcpy(got.data(), indices, got.size() * 4, cudaMemcpyDeviceToHost), "a copy");
    if (first.empty()) first = got;
    if (got != first) {
      std::fprintf(stderr, "lists: %s: other columns than the first, V = %lld, k = %d\n", name,
                   static_cast<long long>(V), K);
      wrong = true;
    }
    const double us = median_us(run, guess);
    std::printf(",\"%s_us\":%.3f,\"%s_gb_per_s\":%.0f", name, us, name, static_cast<double>(one) / us / 1e3);
  };
  time("ends_early", one_read<K, EarlyList<K>, Careful, false>);
  time("four_ahead", one_read<K, EarlyList<K>, Careful, true>);
  time("walked", one_read<K, WalkedList<K>, Careful, false>);
  time("walked_ahead", one_read<K, WalkedList<K>, Careful, true>);
  time("plain_list", one_read<K, PlainList<K>, Careful, true>);
  time("plain_sum", one_read<K, EarlyList<K>, Plain, true>);
  time("plain", one_read<K, PlainList<K>, Plain, false>);
  time("plain_ahead", one_read<K, PlainList<K>, Plain, true>);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main() {
  const Pool pool = pool_of_gpu("lists_head");
  for (const std::int64_t V : {8192, 32000}) {
    measure<5>(pool, 4000, V);
    measure<10>(pool, 4000, V);
    measure<15>(pool, 4000, V);
    measure<30>(pool, 4000, V);
  }
  return wrong ? 1 : 0;
}
