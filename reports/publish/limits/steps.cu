// SPDX-License-Identifier: Apache-2.0
// Times onepass_fast by every step that holds a row, at the shapes of the goals: which rung, how many
// accesses a thread, how many threads and blocks. What step_for (rungs.cuh) chooses is one of them. Whoever
// changes the choice runs this before.
//   now   the step of step_for
//   try   another one
// Outputs are not judged here. `copy_us`: the fastest copy kernel of the sweep. Cold caches, as in
// left_out.cu. Prints a JSON line a step. reports/publish/limits/measure.sh compiles and runs it.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "kernels/building_blocks/onepass/rungs.cuh"
#include "reports/publish/limits/timing.cuh"

namespace {

using namespace assay;
using namespace assay::cuda;
using namespace assay::limits;
using namespace assay::cuda::onepass;

template <class T>
__global__ void fill(T* x, long long n) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL)
    x[i] = from_float<T>(static_cast<float>((i * 2654435761u >> 7) % 4096) / 1024.0f - 2.0f);
}

template <class T>
void launch_step(const Call<T>& c, const Step& s) {
  const auto start = [&](auto kernel, int per_block, int threads) {
    launch_parts(c, s, kernel, per_block, threads);
  };
  constexpr int kWarps = kWarpThreads / 32;
  switch (s.rung) {
    case Rung::lanes:
      return launch_lanes<Fast>(c, s.count, s.threads, s.staged, start);
    case Rung::warp:
      return s.count == 8 ? start(warp_rung<Fast, T, 8>, kWarps, kWarpThreads)
                          : start(warp_rung<Fast, T, 4>, kWarps, kWarpThreads);
    case Rung::boxed:
      return launch_parts_in_clusters(c, boxed_rung<Fast, Cluster, T, 8>, s, s.room);
    case Rung::grid:
      return launch_in_grid<Fast>(c, s, meeting_place(c.stream.handle));
    default:
      if (s.count == 2) return launch_team<Fast, T, 2, false>(c, s);
      if (s.count == 4) return launch_team<Fast, T, 4, false>(c, s);
      return s.again ? launch_team<Fast, T, 8, true>(c, s) : launch_team<Fast, T, 8, false>(c, s);
  }
}

/// Every other step that holds a row of so many whole accesses.
template <class T>
std::vector<Step> other_steps(std::int64_t whole, std::int64_t rows, const Gpu& gpu) {
  std::vector<Step> all;
  if (whole <= 64) return all;
  if (whole <= 128) all.push_back({Rung::warp, 4, 32});
  if (whole <= 256) all.push_back({Rung::warp, 8, 32});
  for (int blocks = 1; blocks <= std::max(gpu.most_blocks, 1); blocks *= 2) {
    const std::int64_t slice = slice_of(whole, blocks);
    if (blocks > 1 && slice < 128) break;
    for (const int count : {2, 4, 8}) {
      const int threads = threads_for(slice, count);
      if (threads <= (count < 8 ? kMostThreads / 2 : kMostThreads))
        all.push_back({blocks == 1 ? Rung::block : Rung::cluster, count, threads, blocks});
    }
    for (const int threads : {256, 320, 384, 448, 512, 768, 1024}) {
      const std::int64_t room = slice - threads * 8;
      if (blocks > 1 && room > 0 && room <= (threads <= kMostThreads / 2 ? kHalfRoom : kMostRoom))
        all.push_back({Rung::boxed, 8, threads, blocks, false, static_cast<int>(room)});
    }
  }
  if (gpu.grid && rows <= kMostTeams && 16 * rows <= 2 * gpu.multiprocessors && whole >= 1024)
    all.push_back(grid_step(whole, rows, gpu));
  return all;
}

template <class T>
void measure(const Pool& pool, const char* type, std::int64_t rows, std::int64_t V) {
  const std::size_t bytes = static_cast<std::size_t>(rows * V) * sizeof(T), one = (bytes + 511) / 512 * 512;
  if (2 * one > pool.bytes) return;
  const auto pairs =
      static_cast<int>(std::clamp<std::size_t>(2 * pool.l2 / one + 1, 1, pool.bytes / (2 * one)));
  const auto from = [&](int i) {
    return reinterpret_cast<T*>(pool.base + 2 * one * static_cast<std::size_t>(i % pairs));
  };
  const auto to = [&](int i) {
    return reinterpret_cast<T*>(pool.base + 2 * one * static_cast<std::size_t>(i % pairs) + one);
  };
  for (int i = 0; i < pairs; ++i) fill<<<1024, 256, 0, stream>>>(from(i), rows * V);
  Problem p;
  p.op = Op::softmax;
  p.in = p.out = DtypeOf<T>::value;
  p.rows = rows;
  p.V = p.in_pitch = p.out_pitch = V;
  Stream s{};
  s.handle = stream;
  const double guess = static_cast<double>(2 * one) / 3e6 + 2;
  const auto copy = [&](bool streaming) {
    return median_us([&](int i) { rig::enqueue_copy(stream, to(i), from(i), bytes, streaming); }, guess);
  };
  double copied = std::min(copy(true), copy(false));
  if (rig::launches_overlap())
    copied = std::min(
        copied,
        median_us([&](int i) { rig::enqueue_overlapping_copy(stream, to(i), from(i), bytes, false); }, guess));
  const Gpu gpu = gpu_for(boxed_rung<Fast, Cluster, T, 8>);
  const auto time = [&](const char* which, Step step) {
    step.overlaps = gpu.overlaps && step.rung != Rung::grid;
    const auto launch = [&](int i) {
      Buffers b{};
      b.logits = from(i);
      b.probs = to(i);
      launch_step(Call<T>(p, b, s), step);
    };
    launch(0);
    if (cudaGetLastError() != cudaSuccess) return;  // more than this GPU can hold
    constexpr const char* kNames[] = {"lanes", "warp", "block", "cluster", "boxed", "grid", "stream"};
    std::printf(
        "{\"kind\":\"steps\",\"dtype\":\"%s\",\"rows\":%lld,\"V\":%lld,\"which\":\"%s\",\"rung\":\"%s\","
        "\"again\":%s,"
        "\"count\":%d,\"threads\":%d,\"blocks\":%d,\"room\":%d,\"us\":%.3f,\"copy_us\":%.3f}\n",
        type, static_cast<long long>(rows), static_cast<long long>(V), which,
        kNames[static_cast<int>(step.rung)], step.again ? "true" : "false", step.count, step.threads,
        step.blocks, step.room, median_us(launch, guess), copied);
    std::fflush(stdout);
  };
  time("now", step_for<T>(V, rows, gpu));
  for (const Step& other : other_steps<T>(V / kPerAccess<T>, rows, gpu)) time("try", other);
}

}  // namespace

int main() {
  const Pool pool = pool_of_gpu("steps_head");
  std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
  for (const std::int64_t V : {1000, 1025, 2048, 4096, 8192, 12345, 16384, 25000, 32768, 50257, 65536, 128256,
                               131072, 151936, 262144, 524288, 1048576})
    shapes.emplace_back(4000, V);
  for (const std::int64_t rows : {10, 1})
    for (const std::int64_t V : {25000, 65536, 128256, 131072, 151936, 262144, 1048576})
      shapes.emplace_back(rows, V);
  for (const auto& [rows, V] : shapes) {
    measure<float>(pool, "f32", rows, V);
    measure<f16>(pool, "f16", rows, V);
  }
  return 0;
}
