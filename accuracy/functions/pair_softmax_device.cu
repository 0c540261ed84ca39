// SPDX-License-Identifier: Apache-2.0
// The device's half of the sweep over every pair of f16 logits: a batch of rows is written, the variant runs
// on it, and the cheap judge reads the outputs on the device. Compiled with -fmad=false, like all oracle
// code.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "accuracy/device_array.hpp"
#include "accuracy/functions/block_merge.cuh"
#include "accuracy/functions/pair_softmax.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

using pairs::OpenPair;
using pairs::PairJudged;
using pairs::PairRules;
using pairs::PairStats;
using pairs::PairVerdict;

constexpr int kThreads = 128;
constexpr std::int64_t kRows = std::int64_t{1} << 24;  // of a batch

__global__ void __launch_bounds__(kThreads)
    fill(std::uint32_t* logits, std::int64_t first, std::int64_t stride, std::int64_t rows) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < rows; i += step)
    logits[i] = static_cast<std::uint32_t>((first + i) * stride);
}

__global__ void __launch_bounds__(kThreads)
    judge(PairRules rules, const std::uint32_t* logits, const std::uint32_t* probs, std::int64_t rows,
          PairStats* partials, OpenPair* open, unsigned long long* open_count) {
  PairStats s;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < rows; i += step) {
    const PairJudged j = judge_pair(rules, logits[i], probs[i]);
    s.take(j, logits[i], probs[i]);
    if (j.verdict == PairVerdict::open) open[atomicAdd(open_count, 1ull)] = {logits[i], probs[i]};
  }
  merge_over_block<kThreads>(s, &partials[blockIdx.x]);
}

}  // namespace

PairStats sweep_pairs_on_device(const Variant& v, const PairRules& rules, std::int64_t stride,
                                const std::function<bool(std::span<const OpenPair>)>& full_check) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  int multiprocessors = 0;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, selected_device()),
             "asking");
  const auto blocks = static_cast<unsigned>(multiprocessors * 8);
  const std::int64_t all = ((std::int64_t{1} << 32) + stride - 1) / stride;
  const std::int64_t most = std::min(all, kRows);
  Problem p;
  p.in = p.out = Dtype::f16;
  p.V = p.in_pitch = p.out_pitch = 2;
  p.rows = most;
  const std::size_t words = static_cast<std::size_t>(most);
  const DeviceArray logits(words * 4), probs(words * 4), open(words * sizeof(OpenPair)),
      open_count(sizeof(unsigned long long)), partials(blocks * sizeof(PairStats)),
      workspace(std::max<std::size_t>(16, v.workspace_bytes ? v.workspace_bytes(p) : 0));
  std::vector<PairStats> stats(blocks);
  check_cuda(
      cudaMemcpy(partials.as<void>(), stats.data(), stats.size() * sizeof(PairStats), cudaMemcpyHostToDevice),
      "copying");
  Buffers b;
  b.logits = logits.as<void>();
  b.probs = probs.as<void>();
  b.workspace = v.workspace_bytes ? workspace.as<void>() : nullptr;
  std::vector<OpenPair> list;
  for (std::int64_t from = 0; from < all; from += kRows) {
    p.rows = std::min(kRows, all - from);
    check_cuda(cudaMemset(open_count.as<void>(), 0, sizeof(unsigned long long)), "clearing");
    // A row that is not written keeps NaNs, which fail if its exact result is finite.
    check_cuda(cudaMemset(probs.as<void>(), 0x7d, static_cast<std::size_t>(p.rows) * 4), "poisoning");
    fill<<<blocks, kThreads>>>(logits.as<std::uint32_t>(), from, stride, p.rows);
    v.run(p, b, Stream{nullptr, 0});
    judge<<<blocks, kThreads>>>(rules, logits.as<const std::uint32_t>(), probs.as<const std::uint32_t>(),
                                p.rows, partials.as<PairStats>(), open.as<OpenPair>(),
                                open_count.as<unsigned long long>());
    check_cuda(cudaGetLastError(), "launching a batch");
    unsigned long long count = 0;
    check_cuda(cudaMemcpy(&count, open_count.as<void>(), sizeof count, cudaMemcpyDeviceToHost), "a batch");
    list.resize(count);
    check_cuda(cudaMemcpy(list.data(), open.as<void>(), count * sizeof(OpenPair), cudaMemcpyDeviceToHost),
               "open rows");
    std::sort(list.begin(), list.end(),
              [](const OpenPair& x, const OpenPair& y) { return x.logits < y.logits; });
    if (!full_check(list)) break;
  }
  check_cuda(
      cudaMemcpy(stats.data(), partials.as<void>(), stats.size() * sizeof(PairStats), cudaMemcpyDeviceToHost),
      "copying back");
  PairStats total;
  for (const PairStats& s : stats) total.merge(s);
  return total;
}

}  // namespace assay
