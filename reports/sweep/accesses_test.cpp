// SPDX-License-Identifier: Apache-2.0
// A profiler's table becomes records. A table that does not fit its plan is refused.
#include "reports/sweep/accesses.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

std::string header() {
  std::string names = "\"ID\",\"Kernel Name\"", units = "\"\",\"\"";
  std::istringstream list(ncu_metrics());
  for (std::string m; std::getline(list, m, ',');) {
    names += ",\"" + m + "\"";
    units += m.find("dram__bytes") == 0            ? ",\"Mbyte\""
             : m.find("time") != std::string::npos ? ",\"ns\""
                                                   : ",\"\"";
  }
  return "==PROF== Connected\n" + names + "\n" + units + "\n";
}
/// A table line for a launch that took `ns` and read and wrote this many MB; `rest`: the other metrics in
/// order.
std::string launch(const std::string& name, double ns, double read, double write, const std::string& rest) {
  std::ostringstream s;
  s << "\"1\",\"" << name << "\",\"" << ns << "\",\"" << read << "\",\"" << write << "\"," << rest << "\n";
  return s.str();
}
const std::string kRest = R"("1,000,000","500,000","4,096,000","50","90","80","32","0","0","16")";
const std::string kBegins =
    launch("assay_point_begins()", 1000, 0, 0, R"("0","0","1","1","1","0","8","0","0","n/a")");
const std::string kEnds =
    launch("assay_point_ends()", 1000, 0, 0, R"("0","0","1","1","1","0","8","0","0","n/a")");

std::filesystem::path file_of(const std::string& text) {
  static const TestFolder folder;
  const auto file = folder.path() / "ncu.csv";
  std::ofstream(file) << text;
  return file;
}

TEST(NcuTable, SumsTheLaunchesOfAPoint) {
  const std::vector<AccessPoint> points = {{"online_block/f32@host", 4000, 4096, 0}};
  const auto file = file_of(
      header() + launch("warm_up", 1, 1, 1, kRest) + kBegins + launch("first", 20000, 65.536, 32.768, kRest) +
      launch("second", 60000, 65.536, 32.768, kRest) + kEnds + launch("fill", 1, 1, 1, kRest));
  const std::vector<AccessRecord> r = read_ncu(file, points, "a GPU");
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].kernels, 2);
  EXPECT_DOUBLE_EQ(*r[0].dram_read, 2.0);
  EXPECT_DOUBLE_EQ(*r[0].dram_write, 1.0);
  EXPECT_NEAR(*r[0].l2_read, 2 * 1e6 * 32 / (4000.0 * 4096 * 4), 1e-12);
  EXPECT_DOUBLE_EQ(*r[0].time_us, 80.0);
  EXPECT_DOUBLE_EQ(*r[0].instructions_per_element, 2 * 4096000.0 * 32 / (4000.0 * 4096));
  EXPECT_DOUBLE_EQ(*r[0].issue_share, 0.5);
  EXPECT_EQ(*r[0].registers, 32);
  EXPECT_EQ(*r[0].sectors_per_request, 16);
  EXPECT_EQ(*r[0].claimed_loads, 2);
}

TEST(NcuTable, RefusesWhatDoesNotFitThePlan) {
  const std::vector<AccessPoint> one = {{"online_block/f32@host", 1, 1, 0}};
  EXPECT_THROW(read_ncu(file_of(header() + launch("k", 1, 1, 1, kRest)), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of(header() + kBegins), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of(header() + kBegins + kBegins + launch("k", 1, 1, 1, kRest)), one, ""),
               InputError);
  EXPECT_THROW(read_ncu(file_of("no table\n"), one, ""), InputError);
  EXPECT_THROW(read_ncu(file_of("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n"), one, ""), InputError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Accesses, HostCountsAreExact) {
  const auto points =
      access_points(Backend::host, {"safe_block/*@host", "online_topk_block/f32@host"}, {4096}, 2);
  ASSERT_EQ(points.size(), 4u);
  for (const AccessRecord& r : count_on_host(points)) {
    EXPECT_NEAR(*r.loads, *r.claimed_loads, 0.02) << r.key;
    EXPECT_NEAR(*r.stores, *r.claimed_stores, 0.02) << r.key;
  }
  EXPECT_THROW(access_points(Backend::host, {"nothing*"}, {64}, 1), InputError);
}
#endif

}  // namespace
}  // namespace assay
