// SPDX-License-Identifier: Apache-2.0
// An error profile compares each error with the bound of the same element. On the page, the error of an
// element that passes is drawn below its bound.
#include "reports/runs/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "accuracy/verdict/checker.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/page/page.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

TEST(Profile, AnErrorStandsBesideTheBoundOfItsOwnElement) {
  Profile p;
  ProfileObserver observer(p);
  // Both errors are within their own bounds, but the larger error is above the smaller bound.
  observer.element(0.5, 2, 2, 3);
  observer.element(0.6, 0.4, 0.4, 1);
  // An error beyond its bound is kept, and not a larger error within its bound.
  observer.element(4.5, 9, 9, 10);
  observer.element(4.6, 3, 3, 2);
  observer.element(4.7, 8, 8, 10);
  observer.element(8.5, NAN, NAN, 2);
  observer.element(8.6, 1, 1, 2);
  observer.finish();
  ASSERT_EQ(p.bins.size(), 3u);
  EXPECT_EQ(p.bins[0].max_ulp, 2);
  EXPECT_EQ(p.bins[0].bound_ulp, 3);
  EXPECT_EQ(p.bins[0].count, 2);
  EXPECT_DOUBLE_EQ(p.bins[0].mean_ulp, 1.2);
  EXPECT_EQ(p.bins[1].max_ulp, 3);
  EXPECT_EQ(p.bins[1].bound_ulp, 2);
  EXPECT_TRUE(std::isnan(p.bins[2].max_ulp));
}

TEST(Profile, WhatPassesStandsUnderItsBoundInEveryFormat) {
  for (const char* key : {"safe_block/f16@host", "safe_block/bf16@host", "safe_block/f32@host"}) {
    const Variant& v = *find_variant(key);
    for (const char* family : {"uniform_80", "normal_10"}) {
      Profile p;
      ProfileObserver observer(p);
      CheckOptions options;
      options.observer = &observer;
      const Record r = check_case(v, Case(*find_family(family), v.dtype, 1025, 2, 1), v.op, 0, options);
      EXPECT_EQ(r.status, Status::pass) << key << ": " << r.reason;
      observer.finish();
      ASSERT_FALSE(p.bins.empty());
      for (const auto& bin : p.bins) EXPECT_LE(bin.max_ulp, bin.bound_ulp) << key << ", " << family;
    }
  }
}

TEST(Profile, WhatPassesIsDrawnUnderItsBound) {
  ReportData data = test_data::synthetic();
  for (Profile& p : data.profiles) {
    p.bins.clear();
    // More bins than a panel can show, so that the plot merges neighbours.
    for (int i = 0; i < 200; ++i)
      p.bins.push_back({0.5 * i, 0.5 * (i + 1), 10, i % 2 ? 0.4 : 2.0, i % 2 ? 1.0 : 3.0, 0.2});
  }
  const std::string html = test_data::all_pages(data);
  int drawn = 0;
  const auto number_after = [&](std::size_t at, const char* word) {
    return std::stod(html.substr(html.find(word, at) + std::string(word).size()));
  };
  for (std::size_t at = html.find("|x - m| from "); at != std::string::npos;
       at = html.find("|x - m| from ", at + 1), ++drawn)
    ASSERT_LE(number_after(at, "largest "), number_after(at, ", bound ")) << html.substr(at, 120);
  EXPECT_GT(drawn, 50);
}

}  // namespace
}  // namespace assay
