// SPDX-License-Identifier: Apache-2.0
// Rows split over several GPUs, on the host executor: which columns are whose, how rows are cut, and the
// merge of the slices' (m, d), judged like any other kernel.
#include "kernels/split/split.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "accuracy/verdict/checker.hpp"
#include "kernels/split/nccl.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Variant split(Dtype dtype, bool fast, int parts, std::int64_t rows_a_chunk = 2) {
  const SplitKernels* const k = find_split_kernels(Backend::host, dtype, fast);
  EXPECT_NE(k, nullptr) << name(dtype);
  return split_on_one_memory(*k, parts, rows_a_chunk);
}

Record judged(const Variant& v, const Case& c) { return check_case(v, c, Op::softmax, 0); }

std::string told(const Record& r) {
  std::string all = r.key + ": " + r.reason;
  for (const CheckResult& check : r.checks)
    if (check.failed > 0) all += "; " + check.detail;
  return all;
}

TEST(Split, SlicesCoverAllColumnsOnce) {
  for (const std::int64_t V : {0, 1, 2, 3, 15, 16, 17, 1000, 262144, 128257})
    for (int parts = 1; parts <= kMostParts; ++parts) {
      std::int64_t next = 0;
      const std::vector<Span> all = column_slices(V, parts);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(parts));
      for (const Span& s : all) {
        EXPECT_EQ(s.first, next);
        EXPECT_GE(s.count, 0);
        EXPECT_LE(s.count, all.front().count) << "the first slice decides the number of blocks";
        next += s.count;
      }
      EXPECT_EQ(next, V);
    }
  EXPECT_EQ(column_slices(262144, 2), (std::vector<Span>{{0, 131072}, {131072, 131072}}));
  EXPECT_EQ(column_slices(2, 4), (std::vector<Span>{{0, 1}, {1, 1}, {2, 0}, {2, 0}}));
}

TEST(Split, ChunksCoverAllRowsOnce) {
  EXPECT_TRUE(row_chunks(0, 64).empty());
  EXPECT_EQ(row_chunks(130, 64), (std::vector<Span>{{0, 64}, {64, 64}, {128, 2}}));
  EXPECT_EQ(row_chunks(64, 64), (std::vector<Span>{{0, 64}}));
}

// V = 33 leaves a slice shorter, V = 5 leaves slices empty, and from 16,385 elements on a slice has several
// blocks.
TEST(Split, PassesTheChecksOfEveryKernel) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const bool fast : {true, false})
      for (const int parts : {1, 2, 3, 8})
        for (const std::int64_t V : {1, 5, 33, 1000, 40001}) {
          const Case c(family_named("normal_1"), dtype, V, 3, 1);
          const Record r = judged(split(dtype, fast, parts), c);
          EXPECT_EQ(r.status, Status::pass) << told(r) << ", " << parts << " parts, V = " << V;
        }
}

TEST(Split, PassesOnEveryFamily) {
  for (const Family& family : families())
    for (const int parts : {2, 3}) {
      if (!applies(family, Dtype::f32, 130)) continue;
      const Case c(family, Dtype::f32, 130, 3, 1);
      const Record r = judged(split(Dtype::f32, true, parts), c);
      EXPECT_EQ(r.status, Status::pass) << family.name << ": " << told(r);
    }
}

/// One row in which the columns of a slice, of three, have one value.
Case with_slice_of(int slice, double value) {
  constexpr std::int64_t V = 100;
  Tensor t(Dtype::f32, 1, V);
  for (std::int64_t i = 0; i < V; ++i) t.set(0, i, 0.25 * static_cast<double>(i % 7));
  const Span s = column_slices(V, 3)[static_cast<std::size_t>(slice)];
  for (std::int64_t i = s.first; i < s.first + s.count; ++i) t.set(0, i, value);
  return Case("slice", std::move(t));
}

// A whole slice of -inf has no maximum: the others decide. One with NaN or +inf makes the whole row NaN.
TEST(Split, ASliceOfOneSpecialValueIsMergedRight) {
  for (const double value : {-kInfinity, kInfinity, kNan, -200.0, 88.0})
    for (int slice = 0; slice < 3; ++slice)
      for (const bool fast : {true, false}) {
        const Record r = judged(split(Dtype::f32, fast, 3), with_slice_of(slice, value));
        EXPECT_EQ(r.status, Status::pass) << value << " in slice " << slice << ": " << told(r);
      }
  Tensor none(Dtype::f32, 1, 100);
  for (std::int64_t i = 0; i < 100; ++i) none.set(0, i, -kInfinity);
  EXPECT_EQ(judged(split(Dtype::f32, true, 3), Case("none", std::move(none))).status, Status::pass);
}

// The judge must see a merge that forgets a slice: with one part for all columns, but only the first half
// summed.
TEST(Split, AForgottenSliceIsRefused) {
  SplitKernels k = *find_split_kernels(Backend::host, Dtype::f32, true);
  static void (*const right)(const SplitCall&, const Stream&) = k.sums;
  k.sums = [](const SplitCall& c, const Stream& s) {
    SplitCall less = c;
    if (c.own == 1) less.columns = 0;
    right(less, s);
  };
  const Case c(family_named("normal_1"), Dtype::f32, 1000, 3, 1);
  EXPECT_EQ(judged(split_on_one_memory(k, 2, 2), c).status, Status::fail);
}

TEST(Split, SaysWhyNcclIsMissing) {
  const std::string why = nccl_missing();
  EXPECT_TRUE(why.empty() || why.find("nccl") != why.npos || why.find("ASSAY_NCCL") != why.npos) << why;
  if (why.empty()) {
    EXPECT_FALSE(nccl_version().empty());
  }
}

}  // namespace
}  // namespace assay
