// SPDX-License-Identifier: Apache-2.0
// A history of reports: what is measured of each, what counts as worse, and the page.
#include "reports/history/history.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

SweepRecord timed(const std::string& key, std::int64_t V, double share) {
  SweepRecord r;
  r.key = key, r.op = "softmax", r.dtype = "f32", r.backend = "host", r.V = V, r.rows = 10;
  r.status = Status::pass, r.verified = Status::pass, r.share_of_copy = share, r.commit = "abc",
  r.gpu = "a machine";
  return r;
}

TEST(History, TakesWhatARunMeasured) {
  const ReportData data = test_data::synthetic(1, {"host"});
  const Digest digest(data);
  const HistoryRun run =
      history_run("here", &digest,
                  {timed("safe_block/f32@host", 32, 0.1), timed("safe_block/f32@host", 1000, 0.5),
                   timed("safe_block/f32@host", 4000, 0.9), timed("safe_block/f32@host", 8000, 0.6)});
  EXPECT_EQ(run.commit, "0123456789ab");
  EXPECT_EQ(run.keys.size(), data.keys.size());
  const HistoryPoint& p = run.keys.at("safe_block/f32@host");
  EXPECT_EQ(p.share, 0.6) << "the median over V of at least 1,000";
  double largest = 0;
  for (const Record& r : data.records)
    if (r.key == "safe_block/f32@host" && r.max_ulp && is_ordinary_family(r.family))
      largest = std::max(largest, *r.max_ulp);
  EXPECT_EQ(p.ulp, largest);
  EXPECT_EQ(history_run("x", nullptr, {timed("a/f32@host", 1000, 1)}).commit, "abc");
  // A set of a sampler is written as a whole row, so the copy is its ceiling; top-k only reads.
  SweepRecord top_p = timed("p/f32@host", 4000, 0.7), topk = timed("k/f32@host", 4000, 0.7);
  top_p.op = "top_p", top_p.threshold = 0.9, topk.op = "softmax_topk", topk.k = 5;
  top_p.share_of_read = topk.share_of_read = 0.4;
  const HistoryRun ceilings = history_run("x", nullptr, {top_p, topk});
  EXPECT_EQ(ceilings.keys.at("p/f32@host").share, 0.7);
  EXPECT_EQ(ceilings.keys.at("k/f32@host").share, 0.4);
}

TEST(History, SaysWhatGotWorseAndAgainstWhich) {
  HistoryRun first, second, third;
  first.commit = "one", second.commit = "two", third.commit = "three";
  first.keys["a/f32@host"] = {1.5, 0.5, 0.9, 0};
  second.keys["b/f32@host"] = {1.0, 0.5, 0.9, 0};  // does not measure a
  third.keys["a/f32@host"] = {1.51, 0.4, 0.8, 0};  // 1.5 to 1.51 is less than 1 %
  third.keys["b/f32@host"] = {1.0, 0.5, 0.87, 2};
  const auto [c, compared] = last_changes({first, second, third});
  ASSERT_EQ(c.size(), 3u);
  EXPECT_EQ(compared, 8) << "four figures of two keys";
  EXPECT_EQ(c[0].key + ", " + c[0].figure + ", " + c[0].before_run, "a/f32@host, share of the copy, one");
  EXPECT_TRUE(c[0].worse);
  EXPECT_EQ(c[1].key + ", " + c[1].figure + ", " + c[1].before_run, "b/f32@host, bad records, two");
  EXPECT_TRUE(c[1].worse);
  EXPECT_EQ(c[2].figure, "error/bound without the last rounding");
  EXPECT_FALSE(c[2].worse);
  // A quick report leaves out rows that a whole one meets. Speeds do not depend on that.
  third.quick = true;
  const auto [quick, of_quick] = last_changes({first, second, third});
  EXPECT_EQ(of_quick, 4) << "two shares, and the bad records of two keys";
  ASSERT_EQ(quick.size(), 2u);
  EXPECT_EQ(quick[0].figure + ", " + quick[1].figure, "share of the copy, bad records");
  EXPECT_NE(render_history_page({first, second, third}).find("<td>quick</td>"), std::string::npos);
  // Where nothing is compared, nothing is found to be well.
  EXPECT_EQ(last_changes({first}).compared, 0);
  for (const std::vector<HistoryRun>& runs : {std::vector{first}, std::vector{first, second}}) {
    const std::string html = render_history_page(runs);
    EXPECT_NE(html.find("<b>NOTHING COMPARED</b>"), std::string::npos);
    EXPECT_NE(html.find("class=\"verdict fail\""), std::string::npos);
  }
}

TEST(History, SmallChangesAreNone) {
  HistoryRun before, after;
  before.keys["a/f32@host"] = {1.5, 9.06e-10, std::nullopt, 0, 1};
  after.keys["a/f32@host"] = {1.55, 9.17e-10, std::nullopt, 0, 1};
  // 1 % of almost nothing is nothing.
  ASSERT_EQ(last_changes({before, after}).changes.size(), 1u);
  EXPECT_EQ(last_changes({before, after}).changes[0].figure, "max ULP, ordinary rows");
  // Other inputs give another largest error.
  after.keys["a/f32@host"].seed = 2;
  EXPECT_TRUE(last_changes({before, after}).changes.empty());
  after.keys["a/f32@host"].ulp = 1.7;
  EXPECT_EQ(last_changes({before, after}).changes.size(), 1u);
}

TEST(History, ComparesOnlyWhatIsAlike) {
  HistoryRun checked, elsewhere, swept;
  checked.machine = swept.machine = "a machine", elsewhere.machine = "another";
  checked.commit = "checked", elsewhere.commit = "elsewhere";
  checked.keys["a/f32@cuda"] = {1.0, 0.5, 0.9, 5};
  elsewhere.keys["a/f32@cuda"].share = 0.2;
  swept.keys["a/f32@cuda"].share = 0.5;
  const auto [c, compared] = last_changes({checked, elsewhere, swept});
  ASSERT_EQ(c.size(), 1u) << "a sweep says nothing of bad records";
  EXPECT_EQ(compared, 1);
  EXPECT_EQ(c[0].figure + ", " + c[0].before_run, "share of the copy, checked");
  EXPECT_EQ(last_changes({elsewhere, swept}).compared, 0);
}

TEST(History, CommandDrawsAPanelForEachKernel) {
  const fs::path folder = fs::temp_directory_path() / ("assay-history-" + std::to_string(getpid()));
  ReportData data = test_data::synthetic(1, {"host"});
  for (const char* name : {"old", "new"}) {
    std::string lines;
    for (Record& r : data.records) {
      if (std::string(name) == "new" && r.key == "online_warp/f32@host" && r.max_ulp)
        r.max_ulp = 2 * *r.max_ulp;
      lines += to_json(r).dump() + "\n";
    }
    prepare_folder(folder / name);
    write_report(folder / name, data, {{"records.jsonl", lines}});
  }
  const command_test::Outcome o =
      command_test::call("assay history " + (folder / "old").string() + " " + (folder / "new").string() +
                         " --out " + (folder / "h").string());
  EXPECT_EQ(o.status, kPassed) << o.err;
  EXPECT_TRUE(o.out.starts_with("worse: online_warp/f32@host: max ULP, ordinary rows: ")) << o.out;
  const std::string html = read_file(folder / "h" / "history.html");
  EXPECT_EQ(test_html::unbalanced(html), "");
  EXPECT_EQ(test_html::foreign_address(html, {"../old/index.html", "../new/index.html"}), "");
  EXPECT_NE(html.find("<b>WORSE</b>"), std::string::npos);
  EXPECT_NE(html.find("<a href=\"../old/index.html\">"), std::string::npos) << "the reports are linked";
  // Two figures of accuracy; the top-k of logits has no error.
  EXPECT_EQ(test_html::occurrences(html, "<svg xmlns"),
            static_cast<int>(2 * (test_data::kVariants.size() - 1)));
  EXPECT_EQ(command_test::call("assay history /nowhere").status, kBadCall);
  EXPECT_EQ(command_test::call("assay history " + folder.string()).status, kBadCall);
  // What can not be read is left out and named; the others are drawn.
  fs::create_directories(folder / "empty");
  fs::create_directories(folder / "torn");
  std::ofstream(folder / "torn" / "records.jsonl") << "{\"key\": \"a/f32";
  const auto all = [&](const std::string& names) {
    std::string line = "assay history --out " + (folder / "h").string();
    for (const std::string& name : command_test::words_of(names)) line += " " + (folder / name).string();
    return command_test::call(line);
  };
  const command_test::Outcome some = all("old empty torn new");
  EXPECT_EQ(some.status, kPassed) << some.err;
  EXPECT_EQ(std::count(some.err.begin(), some.err.end(), '\n'), 2) << some.err;
  const std::string drawn = read_file(folder / "h" / "history.html");
  EXPECT_NE(drawn.find("<b>WORSE</b>"), std::string::npos);
  EXPECT_NE(drawn.find("2 more could not be read"), std::string::npos);
  for (const char* name : {"empty", "torn"}) {
    EXPECT_NE(some.err.find("assay: left out: " + (folder / name).string()), std::string::npos) << some.err;
    EXPECT_NE(drawn.find("<li>" + (folder / name).string()), std::string::npos) << name;
  }
  EXPECT_EQ(all("empty torn").status, kBadCall);
  const command_test::Outcome mistyped = all("old nowhere");
  EXPECT_EQ(mistyped.status, kBadCall);
  EXPECT_NE(mistyped.err.find("nowhere: no such folder"), std::string::npos) << mistyped.err;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay
