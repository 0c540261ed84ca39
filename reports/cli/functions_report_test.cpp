// SPDX-License-Identifier: Apache-2.0
// assay functions: what it prints, writes and refuses, and its section of the page.
#include "reports/data/functions_report.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "reference/error.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/page/test_data.hpp"
#include "reports/page/test_html.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

using command_test::call;
using command_test::Outcome;

TEST(FunctionsCommand, PrintsTheVerdictFirstAndWritesWhatItFound) {
  const fs::path folder = fs::temp_directory_path() / ("assay-functions-" + std::to_string(::getpid()));
  const Outcome o =
      call("assay functions --function hexp expf --backend host --stride 99991 --threads 1 --out " +
           folder.string());
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_TRUE(o.out.starts_with("PASS: 3 functions, 2 of them on every argument")) << o.out;
  EXPECT_NE(o.out.find("* a sample"), std::string::npos);
  const FunctionsReport r = read_functions(folder / "functions.json");
  ASSERT_EQ(r.functions.size(), 3u);
  EXPECT_EQ(r.functions[0].id(), "expf/f32@host");
  EXPECT_EQ(r.functions[0].stride, 99991);
  EXPECT_EQ(r.functions[1].inputs, 65536);
  EXPECT_EQ(render_functions_json(r), read_file(folder / "functions.json"));

  ReportData data;
  data.functions = r;
  EXPECT_NE(test_data::page_of(data, "compare.html").find("Functions that kernels build on"),
            std::string::npos);
  data.functions.reset();
  EXPECT_EQ(test_data::page_of(data, "compare.html").find("Functions that kernels build on"),
            std::string::npos);
  fs::remove_all(folder);
}

TEST(FunctionsCommand, FailsWhereAFunctionFailsOrNothingRan) {
  FunctionsReport r;
  EXPECT_FALSE(functions_passed(r));
  EXPECT_EQ(functions_word(r), "NOT RUN");
  r.functions.resize(1);
  r.functions[0].status = "not_run";
  EXPECT_FALSE(functions_passed(r));
  r.functions[0].status = "pass";
  EXPECT_TRUE(functions_passed(r));
  EXPECT_EQ(functions_word(r), "PASS");
  // 2^28 pairs of f32 numbers are many, and not all.
  r.functions[0].dtype = "f32", r.functions[0].inputs = std::int64_t{1} << 28;
  EXPECT_EQ(functions_verdict(r),
            "1 functions, 0 of them on every argument, 268,435,456 values; 1 divisions on drawn pairs");
  r.functions[0].inputs = std::int64_t{1} << 32;
  EXPECT_TRUE(on_every_argument(r.functions[0]));
  r.pairs.resize(1);
  r.pairs[0].status = "fail";
  r.pairs[0].reason = "<element>";
  EXPECT_FALSE(functions_passed(r));
  const std::string page = render_functions_page(r);
  EXPECT_NE(page.find("FAIL"), std::string::npos);
  EXPECT_EQ(page.find("<element>"), std::string::npos) << "text is escaped";
  EXPECT_EQ(test_html::unbalanced(page), "");
  EXPECT_EQ(test_html::foreign_address(page), "");
  EXPECT_TRUE(render_functions_terminal(r, "").starts_with("FAIL"));
}

}  // namespace
}  // namespace assay
