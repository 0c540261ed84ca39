// SPDX-License-Identifier: Apache-2.0
// For tests of every page in a browser: a folder with the pages of sweep, functions, selftest and history,
// and of a report.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/history/history.hpp"
#include "reports/page/browser/browser_test.hpp"
#include "reports/page/folder/links.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/test_data.hpp"
#include "reports/runs/selftest.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {

inline std::string selftest_page() {
  Selftest s;
  s.peer_rows = 16;
  for (const Mutant& m : mutants()) {
    SelftestEntry e;
    e.mutant = &m;
    e.ran = true;
    e.refused = m.kind != Kind::right;
    if (e.refused) e.failed = {m.expect.check};
    e.peers_ran = m.single_case();
    s.entries.push_back(std::move(e));
  }
  return render_selftest_page(s);
}

inline std::string history_page() {
  std::vector<HistoryRun> runs;
  for (int seed = 1; seed <= 3; ++seed) {
    const ReportData data = test_data::synthetic(seed, {"host"});
    const Digest digest(data);
    runs.push_back(history_run("run " + std::to_string(seed), &digest, {}));
  }
  return render_history_page(runs);
}

inline constexpr const char* kPages[] = {"index.html",        "compare.html",   "sweep.html",
                                         "sweep_shapes.html", "functions.html", "selftest.html",
                                         "history.html"};

class EveryPage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string program = test_browser::find_chromium();
    if (program.empty()) return;
    folder_ = std::filesystem::temp_directory_path() / ("assay-every-page-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    prepare_folder(folder_);
    write_report(folder_, test_data::synthetic(1, {"host"}), {});
    const auto records = sweep_test_data::records();
    const auto accesses = sweep_test_data::accesses();
    write_files({{folder_ / "sweep.html", sweep_page(records, accesses)},
                 {folder_ / "sweep_shapes.html", sweep_shapes_page(records, accesses)},
                 {folder_ / "functions.html",
                  render_functions_page(read_functions(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                                       "reports/published/h200/functions.json"))},
                 {folder_ / "selftest.html", selftest_page()},
                 {folder_ / "history.html", history_page()}});
    link_pages(folder_);
    browser_ = new test_browser::Browser(program, folder_);
  }
  static void TearDownTestSuite() {
    delete browser_;
    browser_ = nullptr;
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (!browser_) GTEST_SKIP() << "chromium is not installed (Debian package: chromium)";
    browser_->medium("screen", "light");
  }
  void TearDown() override {
    if (browser_)
      for (const std::string& fault : browser_->faults()) ADD_FAILURE() << fault;
  }
  static test_browser::Browser& open(const char* page, int width) {
    browser_->width(width);
    browser_->open(folder_ / page);
    return *browser_;
  }
  static inline std::filesystem::path folder_;
  static inline test_browser::Browser* browser_ = nullptr;
};

}  // namespace assay
