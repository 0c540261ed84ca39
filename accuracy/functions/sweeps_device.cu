// SPDX-License-Identifier: Apache-2.0
// The device's half of the sweeps over functions, pairs and quotients: arguments are written, the code under
// test computes results, and one kernel judges them with the same code as the host. Compiled with
// -fmad=false, like all oracle code.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

#include "accuracy/device_array.hpp"
#include "accuracy/functions/function_sweep.hpp"
#include "accuracy/functions/pairs.hpp"
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/device.hpp"

namespace assay {
namespace {

constexpr int kThreads = 128;

/// Calls visit(i) for from <= i < count; the threads of the grid share the numbers.
template <class Visit>
__device__ void for_each(std::int64_t from, std::int64_t count, Visit visit) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = from + static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += step)
    visit(i);
}

/// Merges every thread's `own` into `*total`, by a tree over the block's threads. Every thread must call it.
template <class Stats>
__device__ void merge_over_block(const Stats& own, Stats* total) {
  // Shared variables may not have initialisers, which Stats has, so this is raw memory.
  __shared__ __align__(16) unsigned char memory[sizeof(Stats) * kThreads];
  Stats* all = reinterpret_cast<Stats*>(memory);
  all[threadIdx.x] = own;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();  // what the other half has merged so far is visible
    if (threadIdx.x < half) all[threadIdx.x].merge(all[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) total->merge(all[0]);
}

/// What the kernels of a sweep leave: each block adds to its own statistics, so that a run repeats to the
/// last bit, and what is not decided goes to a list.
template <class Stats, class Open>
struct Gathered {
  Stats* of_block;
  Open* open;
  unsigned long long* open_count;
  unsigned long long most_open;

  __device__ void leave(const Open& one) const {
    const unsigned long long at = atomicAdd(open_count, 1ull);
    if (at < most_open) open[at] = one;
  }
  __device__ void merge(const Stats& own) const { merge_over_block(own, &of_block[blockIdx.x]); }
};

/// The memory of that on this process's GPU, which it chooses.
template <class Stats, class Open>
class DeviceSweep {
 public:
  explicit DeviceSweep(std::size_t most_open)
      : blocks(blocks_of_device()),
        stats_(blocks * sizeof(Stats)),
        open_(most_open * sizeof(Open)),
        count_(sizeof(unsigned long long)),
        most_open_(most_open) {
    copy(stats_.data(), std::vector<Stats>(blocks).data(), blocks * sizeof(Stats));
    clear();
  }
  Gathered<Stats, Open> gathered() const {
    return {stats_.as<Stats>(), open_.as<Open>(), count_.as<unsigned long long>(), most_open_};
  }
  void clear() const { check_cuda(cudaMemset(count_.data(), 0, sizeof(unsigned long long)), "clearing"); }
  /// The list, in the order of `of`: blocks append in any order. `dropped`: how many had no room.
  template <class Key>
  std::vector<Open> open(Key Open::*of, std::int64_t* dropped = nullptr) const {
    check_cuda(cudaGetLastError(), "launching a sweep");
    unsigned long long count = 0;
    copy(&count, count_.data(), sizeof count);
    std::vector<Open> all(std::min(count, most_open_));
    copy(all.data(), open_.data(), all.size() * sizeof(Open));
    std::sort(all.begin(), all.end(), [of](const Open& x, const Open& y) { return x.*of < y.*of; });
    if (dropped) *dropped = static_cast<std::int64_t>(count - all.size());
    return all;
  }
  Stats total() const {
    check_cuda(cudaDeviceSynchronize(), "the sweep");
    std::vector<Stats> all(blocks);
    copy(all.data(), stats_.data(), blocks * sizeof(Stats));
    Stats total;
    for (const Stats& s : all) total.merge(s);
    return total;
  }

  const unsigned blocks;

 private:
  static unsigned blocks_of_device() {
    check_cuda(cudaSetDevice(selected_device()), "selecting the device");
    int multiprocessors = 0;
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, selected_device()),
               "asking");
    return static_cast<unsigned>(multiprocessors * 8);
  }
  static void copy(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "copying");
  }
  const DeviceArray stats_, open_, count_;
  const unsigned long long most_open_;
};

}  // namespace

namespace functions {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 25;
constexpr std::int64_t kMostUndecided = 1 << 20;

template <int bits>
struct Pattern;
template <>
struct Pattern<32> {
  using type = std::uint32_t;
};
template <>
struct Pattern<16> {
  using type = std::uint16_t;
};

template <int bits>
__global__ void __launch_bounds__(kThreads)
    fill(Rules f, Range places, typename Pattern<bits>::type* a, typename Pattern<bits>::type* b) {
  for_each(0, places.count, [&](std::int64_t i) {
    const Arguments x = arguments_of(f, places.first + i * places.stride);
    a[i] = static_cast<typename Pattern<bits>::type>(x.a);
    b[i] = static_cast<typename Pattern<bits>::type>(x.b);
  });
}

/// Judges got[skip, count).
template <Truth truth, int bits>
__global__ void __launch_bounds__(kThreads)
    judge(Rules f, Range places, std::int64_t skip, const typename Pattern<bits>::type* got,
          Gathered<Stats, Undecided> to) {
  Stats s;
  for_each(skip, places.count, [&](std::int64_t i) {
    const std::int64_t place = places.first + i * places.stride;
    const Arguments x = arguments_of(f, place);
    const Sample v{place, argument_value(f, x.a), argument_value(f, x.b), got[i], value_of_bits(f, got[i])};
    const Judged j = judge_value(f, v.got, exact_value<truth>(v.a, v.b));
    if (!enter<truth>(s, f, v, j)) to.leave({place, v.got_bits});
    if (i > 0 && same_chain(f, place, place - places.stride))
      enter_order<truth>(s, f, v, value_of_bits(f, got[i - 1]));
  });
  to.merge(s);
}

template <int bits>
void sweep_ranges(const Function& f, const Rules& r, const std::vector<Range>& ranges,
                  const DeviceSweep<Stats, Undecided>& to) {
  using Bits = typename Pattern<bits>::type;
  std::int64_t most = 0;
  for (const Range& range : ranges) most = std::max(most, std::min(range.count, kChunk));
  const std::size_t bytes = static_cast<std::size_t>(most + 1) * sizeof(Bits);
  const DeviceArray a(bytes), b(bytes), got(bytes);
  const auto judge_of = [&] {
    switch (r.truth) {
      case Truth::exp:
        return judge<Truth::exp, bits>;
      case Truth::exp2:
        return judge<Truth::exp2, bits>;
      case Truth::log:
        return judge<Truth::log, bits>;
      case Truth::divide:
        break;
    }
    return judge<Truth::divide, bits>;
  }();
  for (const Range& range : ranges)
    for (std::int64_t from = 0; from < range.count; from += kChunk) {
      // Includes one result before the chunk, so that every pair of neighbours is compared.
      const std::int64_t skip = from > 0 ? 1 : 0;
      const Range chunk{range.first + (from - skip) * range.stride,
                        std::min(kChunk, range.count - from) + skip, range.stride};
      fill<bits><<<to.blocks, kThreads>>>(r, chunk, a.as<Bits>(), b.as<Bits>());
      f.evaluate(a.as<void>(), b.as<void>(), got.as<void>(), chunk.count, nullptr);
      judge_of<<<to.blocks, kThreads>>>(r, chunk, skip, got.as<const Bits>(), to.gathered());
      check_cuda(cudaGetLastError(), "launching a sweep");
    }
}

}  // namespace

SweepOutcome sweep_on_device(const Function& f, Rules rules, const std::vector<Range>& ranges,
                             std::vector<Undecided>& left) {
  const auto start = std::chrono::steady_clock::now();
  const DeviceSweep<Stats, Undecided> to(kMostUndecided);
  const DeviceArray list(std::max<std::size_t>(4, static_cast<std::size_t>(rules.list_size) * 4));
  if (rules.list) {
    check_cuda(cudaMemcpy(list.as<void>(), rules.list, static_cast<std::size_t>(rules.list_size) * 4,
                          cudaMemcpyHostToDevice),
               "copying the grid");
    rules.list = list.as<const float>();
  }
  (rules.bits == 32 ? sweep_ranges<32> : sweep_ranges<16>)(f, rules, ranges, to);
  SweepOutcome o;
  o.stats = to.total();
  left = to.open(&Undecided::place, &o.undecided);
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return o;
}

}  // namespace functions

namespace {

using pairs::OpenPair;
using pairs::PairJudged;
using pairs::PairRules;
using pairs::PairStats;
using pairs::PairVerdict;

constexpr std::int64_t kRows = std::int64_t{1} << 24;  // of a batch

__global__ void __launch_bounds__(kThreads)
    fill(std::uint32_t* logits, std::int64_t first, std::int64_t stride, std::int64_t rows) {
  for_each(0, rows, [&](std::int64_t i) { logits[i] = static_cast<std::uint32_t>((first + i) * stride); });
}

__global__ void __launch_bounds__(kThreads)
    judge(PairRules rules, const std::uint32_t* logits, const std::uint32_t* probs, std::int64_t rows,
          Gathered<PairStats, OpenPair> to) {
  PairStats s;
  for_each(0, rows, [&](std::int64_t i) {
    const PairJudged j = judge_pair(rules, logits[i], probs[i]);
    s.take(j, logits[i], probs[i]);
    if (j.verdict == PairVerdict::open) to.leave({logits[i], probs[i]});
  });
  to.merge(s);
}

}  // namespace

PairStats sweep_pairs_on_device(const Variant& v, const PairRules& rules, std::int64_t stride,
                                const std::function<bool(std::span<const OpenPair>)>& full_check) {
  const std::int64_t all = ((std::int64_t{1} << 32) + stride - 1) / stride;
  const std::int64_t most = std::min(all, kRows);
  Problem p;
  p.in = p.out = Dtype::f16;
  p.V = p.in_pitch = p.out_pitch = 2;
  p.rows = most;
  const std::size_t words = static_cast<std::size_t>(most);
  const DeviceSweep<PairStats, OpenPair> to(words);
  const DeviceArray logits(words * 4), probs(words * 4),
      workspace(std::max<std::size_t>(16, v.workspace_bytes ? v.workspace_bytes(p) : 0));
  Buffers b;
  b.logits = logits.as<void>();
  b.probs = probs.as<void>();
  b.workspace = v.workspace_bytes ? workspace.as<void>() : nullptr;
  for (std::int64_t from = 0; from < all; from += kRows) {
    p.rows = std::min(kRows, all - from);
    to.clear();
    // A row that is not written keeps NaNs, which fail if its exact result is finite.
    check_cuda(cudaMemset(probs.as<void>(), 0x7d, static_cast<std::size_t>(p.rows) * 4), "poisoning");
    fill<<<to.blocks, kThreads>>>(logits.as<std::uint32_t>(), from, stride, p.rows);
    v.run(p, b, Stream{nullptr, 0});
    judge<<<to.blocks, kThreads>>>(rules, logits.as<const std::uint32_t>(), probs.as<const std::uint32_t>(),
                                   p.rows, to.gathered());
    if (!full_check(to.open(&OpenPair::logits))) break;
  }
  return to.total();
}

namespace {

constexpr std::int64_t kDivisorsOfALaunch = 1 << 17;

struct Wrong {
  unsigned long long count = 0;
  unsigned long long pair = 0;  // divisor and numerator of one of them, in one word
  __host__ __device__ void merge(const Wrong& o) {
    count += o.count;
    pair = o.pair > pair ? o.pair : pair;
  }
};
struct NothingOpen {};

/// A quotient c of mantissas is correctly rounded if the exact remainder a - c d is at most half an ulp of c,
/// times d (a division has no ties). If c is within one ulp, the fma gives the exact remainder. If c is
/// further off, the remainder exceeds the limit by more than its rounding.
__global__ void __launch_bounds__(kThreads)
    try_divisors(std::int64_t first, std::int64_t stride, std::int64_t count, int ulp_off,
                 Gathered<Wrong, NothingOpen> to) {
  Wrong wrong;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const auto mantissa = static_cast<unsigned>((first + i) * stride);
    cuda::RowDivisor by = cuda::row_divisor(__uint_as_float(0x3f800000u | mantissa));
    by.reciprocal = __uint_as_float(__float_as_uint(by.reciprocal) + static_cast<unsigned>(ulp_off));
    for (unsigned n = threadIdx.x; n < kMantissas; n += kThreads) {
      const float a = __uint_as_float(0x3f800000u | n);
      const float c = cuda::ordinary_quotient(a, by);
      const float half_ulp = c < 1.0f ? 0x1p-25f : 0x1p-24f;
      if (!(fabsf(fmaf(-c, by.d, a)) <= by.d * half_ulp)) {
        wrong.merge({1, static_cast<unsigned long long>(mantissa) << 32 | n});
      }
    }
  }
  to.merge(wrong);
}

}  // namespace

QuotientSweep sweep_quotients_on_device(std::int64_t stride, int ulp_off) {
  const DeviceSweep<Wrong, NothingOpen> to(1);
  QuotientSweep s;
  s.divisors = (kMantissas + stride - 1) / stride;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t first = 0; first < s.divisors; first += kDivisorsOfALaunch)
    try_divisors<<<to.blocks, kThreads>>>(first, stride, std::min(kDivisorsOfALaunch, s.divisors - first),
                                          ulp_off, to.gathered());
  check_cuda(cudaGetLastError(), "launching a sweep");
  const Wrong wrong = to.total();
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  s.wrong = static_cast<std::int64_t>(wrong.count);
  s.divisor = static_cast<std::uint32_t>(wrong.pair >> 32);
  s.numerator = static_cast<std::uint32_t>(wrong.pair);
  return s;
}

}  // namespace assay
