// SPDX-License-Identifier: Apache-2.0
// The device's half of a function sweep: arguments are written, the function under test computes the results,
// and one kernel judges them with the same code as the host. Compiled with -fmad=false, like all oracle code.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "accuracy/device_array.hpp"
#include "accuracy/functions/block_merge.cuh"
#include "accuracy/functions/function_sweep.hpp"
#include "kernels/device.hpp"

namespace assay::functions {
namespace {

constexpr int kThreads = 128;
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

__device__ std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t thread_step() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

template <int bits>
__global__ void __launch_bounds__(kThreads)
    fill(Rules f, Range places, typename Pattern<bits>::type* a, typename Pattern<bits>::type* b) {
  for (std::int64_t i = thread_index(); i < places.count; i += thread_step()) {
    const Arguments x = arguments_of(f, places.first + i * places.stride);
    a[i] = static_cast<typename Pattern<bits>::type>(x.a);
    b[i] = static_cast<typename Pattern<bits>::type>(x.b);
  }
}

/// Judges got[skip, count). Each block adds to its own partial result, so that a run repeats to the last bit.
template <Truth truth, int bits>
__global__ void __launch_bounds__(kThreads)
    judge(Rules f, Range places, std::int64_t skip, const typename Pattern<bits>::type* got, Stats* partials,
          Undecided* left, unsigned long long* left_count) {
  Stats s;
  for (std::int64_t i = skip + thread_index(); i < places.count; i += thread_step()) {
    const std::int64_t place = places.first + i * places.stride;
    const Arguments x = arguments_of(f, place);
    const Sample v{place, argument_value(f, x.a), argument_value(f, x.b), got[i], value_of_bits(f, got[i])};
    const Judged j = judge_value(f, v.got, exact_value<truth>(v.a, v.b));
    if (!enter<truth>(s, f, v, j)) {
      const unsigned long long at = atomicAdd(left_count, 1ull);
      if (at < kMostUndecided) left[at] = {place, v.got_bits};
    }
    if (i > 0 && same_chain(f, place, place - places.stride))
      enter_order<truth>(s, f, v, value_of_bits(f, got[i - 1]));
  }
  merge_over_block<kThreads>(s, &partials[blockIdx.x]);
}

template <int bits>
void sweep_ranges(const Function& f, const Rules& r, const std::vector<Range>& ranges, unsigned blocks,
                  Stats* partials, Undecided* left, unsigned long long* left_count) {
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
      fill<bits><<<blocks, kThreads>>>(r, chunk, a.as<Bits>(), b.as<Bits>());
      f.evaluate(a.as<void>(), b.as<void>(), got.as<void>(), chunk.count, nullptr);
      judge_of<<<blocks, kThreads>>>(r, chunk, skip, got.as<const Bits>(), partials, left, left_count);
      check_cuda(cudaGetLastError(), "launching a sweep");
    }
  check_cuda(cudaDeviceSynchronize(), "the sweep");
}

}  // namespace

SweepOutcome sweep_on_device(const Function& f, Rules rules, const std::vector<Range>& ranges,
                             std::vector<Undecided>& left) {
  SweepOutcome o;
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  int multiprocessors = 0;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, selected_device()),
             "asking");
  const auto blocks = static_cast<unsigned>(multiprocessors * 8);
  check_cuda(cudaFree(nullptr), "starting");
  const auto start = std::chrono::steady_clock::now();

  std::vector<Stats> partials(blocks);
  const DeviceArray on_device(partials.size() * sizeof(Stats)), undecided(kMostUndecided * sizeof(Undecided)),
      counter(sizeof(unsigned long long)),
      list(std::max<std::size_t>(4, static_cast<std::size_t>(rules.list_size) * 4));
  check_cuda(cudaMemcpy(on_device.as<void>(), partials.data(), partials.size() * sizeof(Stats),
                        cudaMemcpyHostToDevice),
             "copying");
  check_cuda(cudaMemset(counter.as<void>(), 0, sizeof(unsigned long long)), "clearing");
  if (rules.list) {
    check_cuda(cudaMemcpy(list.as<void>(), rules.list, static_cast<std::size_t>(rules.list_size) * 4,
                          cudaMemcpyHostToDevice),
               "copying the grid");
    rules.list = list.as<const float>();
  }
  if (rules.bits == 32)
    sweep_ranges<32>(f, rules, ranges, blocks, on_device.as<Stats>(), undecided.as<Undecided>(),
                     counter.as<unsigned long long>());
  else
    sweep_ranges<16>(f, rules, ranges, blocks, on_device.as<Stats>(), undecided.as<Undecided>(),
                     counter.as<unsigned long long>());

  check_cuda(cudaMemcpy(partials.data(), on_device.as<void>(), partials.size() * sizeof(Stats),
                        cudaMemcpyDeviceToHost),
             "copying back");
  for (const Stats& s : partials) o.stats.merge(s);
  unsigned long long count = 0;
  check_cuda(cudaMemcpy(&count, counter.as<void>(), sizeof count, cudaMemcpyDeviceToHost), "copying back");
  const auto kept = std::min<std::size_t>(count, kMostUndecided);
  left.resize(kept);
  check_cuda(cudaMemcpy(left.data(), undecided.as<void>(), kept * sizeof(Undecided), cudaMemcpyDeviceToHost),
             "copying back");
  // Blocks append in any order; MPFR's results are added in the order of the arguments.
  std::sort(left.begin(), left.end(),
            [](const Undecided& x, const Undecided& y) { return x.place < y.place; });
  o.undecided = static_cast<std::int64_t>(count - kept);
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return o;
}

}  // namespace assay::functions
