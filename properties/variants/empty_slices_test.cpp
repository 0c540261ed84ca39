// SPDX-License-Identifier: Apache-2.0
// Rows of which one part has no maximum: only -inf, or -inf and a NaN, beside finite logits. A kernel that
// splits a row among threads, warps or blocks must merge such a part as nothing, or as NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

constexpr double kInfinityOfSlices = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// Row 2p: part p of eight is -inf; row 2p + 1: with a NaN in it. Then all but one logit -inf; all -inf with
/// a NaN. The same again `times` times.
Tensor rows_with_empty_parts(Dtype dtype, std::int64_t V, std::int64_t times) {
  constexpr std::int64_t kParts = 8, kKinds = 2 * kParts + 2;
  Tensor t(dtype, kKinds * times, V);
  for (std::int64_t at = 0; at < t.rows; ++at) {
    const std::int64_t r = at % kKinds;
    const std::int64_t part = r / 2, begin = part * V / kParts, end = (part + 1) * V / kParts;
    for (std::int64_t j = 0; j < V; ++j) {
      const bool empty = part == kParts || (j >= begin && j < end);
      t.set(at, j, empty ? -kInfinityOfSlices : static_cast<double>(j % 17) / 4 - 2);
    }
    if (part == kParts)
      t.set(at, V / 2, r % 2 == 0 ? 1.0 : kNan);
    else if (r % 2 == 1)
      t.set(at, (begin + end) / 2, kNan);
  }
  return t;
}

class EmptySlices : public testing::TestWithParam<Backend> {};
TEST_P(EmptySlices, AreMergedAsNothingOrAsNan) {
  if (const std::string why = unavailable_reason(GetParam()); !why.empty()) GTEST_SKIP() << why;
  // Each rung of onepass: lanes, warp, block, cluster, boxed, and what does not fit there. On a GPU these few
  // rows take clusters and the grid from 9001 on. `only`: other variants have no path of their own there.
  struct Length {
    std::int64_t V, times = 1;
    std::string_view only = "";
    int judged = 20;
  };
  std::vector<Length> lengths = {{100},  {1025}, {9001}, {20001, 1, "onepass", 3}, {40001, 1, "onepass", 3},
                                 {70001}};
  if (GetParam() == Backend::cuda) lengths.push_back({70001, 60, "", 3});
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const auto& [V, times, only, least] : lengths) {
      const Case c("empty_parts", rows_with_empty_parts(dtype, V, times));
      int judged = 0;
      for (const Variant& v : registry()) {
        if (v.backend != GetParam() || v.dtype != dtype || !not_plain_rows(v.claim, v.op).empty()) continue;
        if ((times > 1 && v.op != Op::lse) || !v.variant.starts_with(only)) continue;
        const Record r = check_case(v, c, v.op, selects(v.op) ? 5 : 0);
        if (r.status == Status::unsupported) continue;
        EXPECT_EQ(r.status, Status::pass) << v.key() << " V = " << V << ": " << r.reason;
        ++judged;
      }
      EXPECT_GE(judged, least) << name(dtype) << " V = " << V;
    }
}
INSTANTIATE_TEST_SUITE_P(Variants, EmptySlices, testing::Values(Backend::host, Backend::cuda),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace assay
