// SPDX-License-Identifier: Apache-2.0
// The sweep's pages on what is published: how large they are, and which lengths their main results speak of.
#include <gtest/gtest.h>

#include <fstream>

#include "reports/data/files.hpp"
#include "reports/page/test_html.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/page.hpp"
#include "reports/sweep_page/summary.hpp"
#include "reports/sweep_page/write_page.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string softmax_line(const std::vector<SweepRecord>& all) {
  for (const std::string& line : speed::headlines(speed::gather(all, {})))
    if (line.starts_with("f32 softmax, 4000 rows")) return line;
  return "";
}

TEST(SweepPagePublished, EachPageIsUnderTwoMegabytes) {
  for (const char* machine : {"h200", "h100"}) {
    const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "reports/published" / machine;
    const std::vector<SweepRecord> records = records_of_folder(folder);
    ASSERT_GT(records.size(), 10'000u) << folder;
    std::vector<AccessRecord> accesses;
    if (fs::exists(folder / "accesses.jsonl")) accesses = read_accesses(folder / "accesses.jsonl");
    const std::string first = sweep_page(records, accesses), shapes = sweep_shapes_page(records, accesses);
    EXPECT_LT(first.size(), 1'600'000u) << machine;
    EXPECT_LT(shapes.size(), 1'600'000u) << machine;
    EXPECT_EQ(test_html::unbalanced(first), "");
    EXPECT_EQ(test_html::unbalanced(shapes), "");
  }
}

TEST(SweepPagePublished, TheMainResultSpeaksOfLengthsAtWhichOwnKernelsWereTimed) {
  std::vector<SweepRecord> all = sweep_test_data::records({"f32"}, {4000});
  const std::string before = softmax_line(all);
  EXPECT_NE(before.find("at which a kernel of this project was timed"), std::string::npos) << before;
  SweepRecord slow;
  for (const SweepRecord& r : all)
    if (r.key == "torch_softmax/f32@cuda" && r.V >= 4096) slow = r;
  ASSERT_EQ(slow.role, "peer");
  slow.V += 1;
  slow.median_us = *slow.median_us * 100, slow.share_of_copy = 0.01;
  all.push_back(slow);
  EXPECT_EQ(softmax_line(all), before) << "only a peer was timed at that length";
  // With a kernel of the project at the same length it counts.
  slow.key = "online_block/f32@cuda", slow.role = "variant";
  slow.verified = "pass";
  all.push_back(slow);
  EXPECT_NE(softmax_line(all), before);
}

}  // namespace
}  // namespace assay
