// SPDX-License-Identifier: Apache-2.0
// The owners of rows are found for kernels that give whole rows to blocks in turn, at the row length that is
// asked for. Every other kernel is recognised, with a reason, before anything large is run.
#include "accuracy/conformance/groups/block_owners.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/isolation/isolated.hpp"

namespace assay::conformance {
namespace {

Variant compiled(const char* entry, const std::vector<std::string>& args) {
  OneFile f;
  f.source = std::string(ASSAY_SOURCE_DIR) + "/accuracy/conformance/fixtures/block_owners.cu";
  f.entry = entry;
  f.args = args;
  f.host = true;
  f.build_dir =
      (std::filesystem::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
  return load_plugin(compile_one_file(f)).at(0);
}

BlockOwners owners(const Variant& v, std::int64_t V) {
  auto* const launcher = dynamic_cast<PartLauncher*>(v.launcher.get());
  EXPECT_NE(launcher, nullptr);
  if (!launcher) return {};
  return block_owners(v, *launcher, problem_of(v, v.op, (std::int64_t{1} << 31) / V + 3, V, 1, V), 60);
}

TEST(BlockOwners, RowsInTurnAreToldAtTheirOwnLength) {
  const Variant v = compiled("void by_length(const float* in, float* out, int rows, int V)", {});
  EXPECT_EQ(owners(v, 1024).rows_per_block, 4) << owners(v, 1024).why.sentence;
  EXPECT_EQ(owners(v, 64).rows_per_block, 128) << owners(v, 64).why.sentence;
  const Variant few = compiled("void capped(const float* in, float* out, int rows, int V)", {});
  EXPECT_EQ(owners(few, 256).rows_per_block, 1) << owners(few, 256).why.sentence;
}

TEST(BlockOwners, OtherKernelsAreToldApart) {
  const struct {
    const char* entry;
    std::vector<std::string> args;
    const char* why;
  } all[] = {
      {"void one_block(const float* in, float* out, int rows, int V)", {}, "writes all of 1536 rows"},
      {"void in_shares(const float* in, float* out, int rows, int V)", {}, "with 524287 rows"},
      {"void shares_of_many(const float* in, float* out, int rows, int V)", {}, "with 2097155 rows"},
      {"void by_elements(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void by_columns(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void two_shapes(const float* in, float* out, float* workspace, int rows, int V)",
       {"workspace_bytes=rows * 8"},
       "neither whole nor untouched"},
      {"void in_place(float* x, int rows, int V)", {}, "neither whole nor untouched"},
      {"void wide_indices(const float* in, float* values, int64_t* indices, int rows, int V)",
       {"k=1"},
       "neither whole nor untouched"},
  };
  for (const auto& e : all) {
    const BlockOwners o = owners(compiled(e.entry, e.args), 1024);
    EXPECT_EQ(o.rows_per_block, 0) << e.entry;
    EXPECT_EQ(o.why.why, Why::executor) << e.entry;
    EXPECT_TRUE(o.why.sentence.starts_with("executor: ")) << e.entry << ": " << o.why.sentence;
    EXPECT_NE(o.why.sentence.find(e.why), std::string::npos) << e.entry << ": " << o.why.sentence;
  }
}

TEST(BlockOwners, AFaultThatIsSeenIsAFailure) {
  const struct {
    const char* entry;
    Status status;
    const char* words;
  } all[] = {
      {"void crashes_of_many(const float* in, float* out, int rows, int V)", Status::crashed,
       "a launch of 1536 rows of 1024 columns: segmentation fault"},
      {"void nothing_of_many(const float* in, float* out, int rows, int V)", Status::fail,
       "a launch of 1536 rows of 1024 columns: row 0 was never written"},
  };
  for (const auto& e : all) {
    const Variant v = compiled(e.entry, {});
    ConformanceOptions o;
    o.only = {"big"};
    o.threads = 1;
    o.narrow.V = 1024;
    for (const Record& r : run_conformance([&] { return v; }, o).records) {
      EXPECT_EQ(r.status, e.status) << e.entry << ": " << r.reason;
      const auto said =
          std::find_if(r.checks.begin(), r.checks.end(), [](const CheckResult& c) { return c.failed > 0; });
      ASSERT_NE(said, r.checks.end()) << e.entry;
      EXPECT_TRUE(said->detail.starts_with(e.words)) << said->detail;
    }
    // The rows are judged by cases of their own there.
    o = {};
    o.only = {"rows"};
    o.extent = Extent::quick;
    o.threads = 1;
    const auto rows = run_conformance([&] { return v; }, o).records;
    EXPECT_GE(std::count_if(rows.begin(), rows.end(),
                            [&](const Record& r) { return r.status == e.status && r.rows > 1030; }),
              2)
        << e.entry;
  }
}

TEST(BlockOwners, AVerdictIsGivenOnlyWhereTheyAreTold) {
  const auto big = [](const Variant& v) {
    ConformanceOptions o;
    o.only = {"big"};
    o.threads = 1;
    o.narrow.V = 1024;
    return run_conformance([&] { return v; }, o).records;
  };
  for (const Record& r : big(compiled("void by_length(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r : big(compiled("void by_chunks(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r :
       big(compiled("void rows_left_out(const float* in, float* out, int rows, int V)", {})))
    EXPECT_EQ(r.status, r.rows > 1000000 ? Status::fail : Status::pass) << r.rows << " rows: " << r.reason;
  for (const Record& r : big(compiled("void in_place(float* x, int rows, int V)", {}))) {
    EXPECT_EQ(r.status, Status::unsupported) << r.reason;
    EXPECT_TRUE(r.reason.starts_with("executor: ")) << r.reason;
  }
}

}  // namespace
}  // namespace assay::conformance
