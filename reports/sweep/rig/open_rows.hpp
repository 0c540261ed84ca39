// SPDX-License-Identifier: Apache-2.0
// The rest of a judgement on a GPU: the rows that its first look left open. Included only where the CUDA side
// is compiled.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include "accuracy/device_array.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/device.hpp"
#include "reference/parallel.hpp"

namespace assay {

/// Judges the open rows on all cores, until the first failure or until `seconds` have passed. `open_rows`
/// gets the number of those that were not judged. `repeats`: rows behind those of `o` that repeat them; row r
/// of `o` stands for all rows r, r + o.rows, ...
inline FastJudgement judged_on_device(const Claim& claim, Backend backend, const Outputs& o,
                                      const std::vector<DeviceRow>& rows, std::int64_t repeats,
                                      double seconds, std::int64_t& open_rows) {
  const auto begin = std::chrono::steady_clock::now();
  FastJudgement all;
  std::vector<std::int64_t> open;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const DeviceRow& row = rows[static_cast<std::size_t>(r)];
    const std::int64_t times = 1 + (repeats + o.rows - 1 - r) / o.rows;
    if (row.open > 0) {
      open.push_back(r);
      continue;
    }
    all.elements += times * o.V;
    all.statistics.max_ulp = std::max(all.statistics.max_ulp, static_cast<float>(row.max_ulp));
    all.statistics.utilisation = std::max(all.statistics.utilisation, row.utilisation);
  }
  std::mutex one_at_a_time;
  open_rows = 0;
  parallel_for(open.size(), 0, [&](std::size_t i) {
    const std::int64_t r = open[i];
    {
      const std::lock_guard lock(one_at_a_time);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      if (all.failed > 0 || spent.count() > seconds) {
        ++open_rows;
        return;
      }
    }
    check_cuda(cudaSetDevice(selected_device()), "selecting the device");  // it is a property of the thread
    const FastJudgement one =
        judge_row_of_device(claim, backend, o, r, rows[static_cast<std::size_t>(r)].open);
    const std::lock_guard lock(one_at_a_time);
    for (std::int64_t times = 1 + (repeats + o.rows - 1 - r) / o.rows; times > 0; --times) all.add(one);
  });
  return all;
}

}  // namespace assay
