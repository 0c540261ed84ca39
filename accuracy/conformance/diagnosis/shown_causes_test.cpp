// SPDX-License-Identifier: Apache-2.0
// A cause that a single record shows comes before a guess from what many have in common.
#include "accuracy/conformance/diagnosis/shown_causes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"

namespace assay::conformance {
namespace {

Record one(const std::string& group, std::int64_t V, std::int64_t rows, Status status, Check check,
           const std::string& detail, const char* op = "softmax") {
  Record r;
  r.group = group, r.family = "normal_1", r.op = op, r.V = V, r.rows = rows, r.status = status;
  r.checks.push_back({check, 1, status == Status::pass ? 0 : 1, 0, 0, status == Status::pass ? "" : detail});
  return r;
}

/// Lengths that are no multiple of 4 fail here and there, and crash at the end of a page.
std::vector<Record> read_beyond(bool read) {
  std::vector<Record> records;
  for (std::int64_t V = 1; V < 200; ++V) {
    const bool rest = V % 4 != 0;
    records.push_back(one("shapes", V, 3, rest && V % 7 != 2 ? Status::fail : Status::pass, Check::element,
                          "row 2, column 0: got nan"));
    records.push_back(
        one("layout", V, 3, rest ? Status::crashed : Status::pass, Check::launch, "segmentation fault"));
    records.back().setup = "page_end";
    records.back().checks[0].access = {read, true, 12 * V, 12 * V};
  }
  return records;
}

TEST(ShownCauses, AReadBeyondARowIsNamedWithItsAddress) {
  Finding f;
  const std::vector<Record> records = read_beyond(true);
  for (const Record& r : records)
    if (r.status != Status::pass) f.cases.push_back(&r);
  f.first = f.cases.front();
  EXPECT_EQ(cause_of_reads_beyond(f),
            "elements beyond the end of a row are read where V is no multiple of 4 (V = 1: a read at byte 12 "
            "of the "
            "logits, which have 12)");
  f.first = f.cases.at(1);
  EXPECT_EQ(cause_of_reads_beyond(f), "") << "its own words say it";
  const std::vector<Record> writes = read_beyond(false);
  f.cases.clear();
  for (const Record& r : writes)
    if (r.status != Status::pass) f.cases.push_back(&r);
  f.first = f.cases.front();
  EXPECT_EQ(cause_of_reads_beyond(f), "");
}

/// A log-softmax that is hardly off in most cases, and -inf at this distance in some.
std::vector<Record> logs(double distance, double exact) {
  std::vector<Record> records;
  for (std::int64_t V = 2; V < 300; ++V) {
    const bool off = V * 2654435761 % 97 < 50, gone = V > 100 && V * 40503 % 89 < 30;
    Record r = one("families", V, 4, off || gone ? Status::fail : Status::pass,
                   gone ? Check::element : Check::coherence,
                   gone ? "row 2, column 0: got -inf" : "off by little", "log_softmax");
    if (gone)
      r.worst = {.row = 2,
                 .column = 0,
                 .distance = distance,
                 .got = -std::numeric_limits<double>::infinity(),
                 .exact_lo = exact,
                 .exact_hi = exact};
    records.push_back(r);
  }
  return records;
}

TEST(ShownCauses, ALogarithmOfAProbabilityThatIsZero) {
  const std::vector<Record> records = logs(-104, -105);
  const auto found = diagnose(records);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].likely, kUnderflowedLog);
  EXPECT_EQ(found[0].detail, "row 2, column 0: got -inf") << "not of a case that is hardly off";
  EXPECT_FALSE(found[0].may_be_arithmetic);
  // Near the maximum it is another fault.
  const std::vector<Record> near = logs(-5, -6);
  for (const Finding& f : diagnose(near)) EXPECT_NE(f.likely, kUnderflowedLog);
}

TEST(ShownCauses, TheFirstRowThatNobodyWrote) {
  std::vector<Record> records;
  for (const std::int64_t rows : {1, 2, 31, 128, 600, 1000, 1056, 1057, 1100, 2048, 4096})
    for (const std::int64_t V : {7, 32, 129})
      records.push_back(one("rows", V, rows, rows > 1024 ? Status::fail : Status::pass, Check::written,
                            "row 1024: element 0 was never written"));
  for (Record& r : records)
    if (r.status == Status::fail) r.checks[0].row = 1024;
  auto found = diagnose(records);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].where, "every case of 1056 rows or more");
  EXPECT_EQ(found[0].likely, "more than 1024 rows are not provided for");
  // Rows that differ tell no limit.
  for (Record& r : records)
    if (r.rows == 4096) r.checks[0].row = 3000;
  found = diagnose(records);
  EXPECT_EQ(found.at(0).likely, "more than 1055 rows are not provided for");
}

TEST(ShownCauses, MoreSecondsDoNotHelpAProcessThatIsStopped) {
  const auto likely = [](FaultKind kind) {
    std::vector<Record> records;
    for (std::int64_t V = 1; V < 9; ++V) {
      records.push_back(one("shapes", V, 1, Status::hung, Check::launch, "nothing came back within 60 s"));
      records.back().checks[0].cause = kind;
    }
    return diagnose(records).at(0).likely;
  };
  EXPECT_NE(likely(FaultKind::no_answer).find("--timeout"), std::string::npos);
  EXPECT_EQ(likely(FaultKind::stopped).find("--timeout"), std::string::npos);
}

}  // namespace
}  // namespace assay::conformance
