// SPDX-License-Identifier: Apache-2.0
// assay_bench: the cost of the tools themselves on this machine, in elements a second of the host executor
// and of the oracle. A benchmark to run by hand; no test asserts a time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "accuracy/case/guarded.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/oracle/oracle.hpp"
#include "reports/data/environment.hpp"

namespace assay {
namespace {

/// Median of seven runs of `work`, in seconds.
template <class F>
double median_seconds(F work) {
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// One launch of 128 rows of 4096 on one core, with poison, guard bands and mask checks as in the report.
void bench_executor(const Variant& v) {
  const std::int64_t rows = 128, V = 4096;
  const Tensor logits = make_input(*find_family("normal_1"), v.dtype, V, rows, 1);
  Problem p;
  p.op = v.op;
  p.in = p.out = v.dtype;
  p.rows = rows;
  p.V = V;
  p.take(usual_pick(v.op));
  GuardedLaunch launch(v, p, logits, plain_layout());
  launch.run();
  const double s = median_seconds([&] { launch.run(); });
  std::printf("executor  %-28s V = %lld: %7.1f million elements a second\n", v.key().c_str(),
              static_cast<long long>(V), static_cast<double>(rows * V) / s / 1e6);
}

void bench_oracle(const char* family, Dtype dtype, std::int64_t V) {
  const Tensor logits = make_input(*find_family(family), dtype, V, 1, 1);
  row_truth(dtype, logits.row(0), V, dtype);
  const double s = median_seconds([&] { row_truth(dtype, logits.row(0), V, dtype); });
  std::printf("oracle    %-10s %-17s V = %lld: %7.1f ns an element\n", family, name(dtype),
              static_cast<long long>(V), s * 1e9 / static_cast<double>(V));
}

}  // namespace
}  // namespace assay

int main() {
  for (const auto& [label, value] : assay::environment())
    std::printf("%s: %s\n", label.c_str(), value.c_str());
  for (const assay::Variant& v : assay::registry())
    if (v.backend == assay::Backend::host) assay::bench_executor(v);
  for (const assay::Dtype t : {assay::Dtype::f32, assay::Dtype::f16, assay::Dtype::bf16})
    for (const char* family : {"normal_1", "uniform_80"}) assay::bench_oracle(family, t, 32768);
}
