// SPDX-License-Identifier: Apache-2.0
// A row has the same bits at any address and beside any rows, in every rung, where the form says so. Where it
// does not, alignment shows: the test sees it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/building_blocks/onepass/resident.hpp"
#include "kernels/device.hpp"
#include "kernels/registry.hpp"

#define ASSAY_BACKEND host
#include "kernels/building_blocks/onepass/rungs.cuh"

namespace assay::host::onepass {
namespace {

/// Rows of V elements, at addresses of our choice.
template <class T>
class Memory {
 public:
  /// `past`: number of elements between a multiple of 32 bytes and the first row.
  Memory(std::int64_t rows, std::int64_t pitch, std::int64_t past) : pitch_(pitch) {
    storage_.resize(static_cast<std::size_t>(rows * pitch + past) + 32 / sizeof(T));
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    first_ = storage_.data() + (32 - at % 32) % 32 / sizeof(T) + past;
  }
  T* row(std::int64_t r) { return first_ + r * pitch_; }
  std::int64_t pitch() const { return pitch_; }

 private:
  std::vector<T> storage_;
  T* first_;
  std::int64_t pitch_;
};

/// The outputs, m and d of the last of `rows` rows.
template <class Form, class T>
std::vector<unsigned char> bits_of(std::int64_t V, std::int64_t rows, std::int64_t gap, std::int64_t in,
                                   std::int64_t out, bool in_place = false) {
  Memory<T> x(rows, V + gap, in), p(rows, V + gap, out);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < V; ++j)
      x.row(r)[j] = from_float<T>(static_cast<float>((j + (rows - 1 - r)) * 7919 % 1009) / 100);
  std::vector<float> m(static_cast<std::size_t>(rows)), d(m);
  T* const to = in_place ? x.row(0) : p.row(0);
  const Problem problem{
      .op = Op::softmax, .rows = rows, .V = V, .in_pitch = x.pitch(), .out_pitch = x.pitch()};
  const Buffers buffers{.logits = x.row(0), .probs = to, .m = m.data(), .d = d.data()};
  run<Form>(Call<T>(problem, buffers, Stream{}));
  std::vector<unsigned char> bits(static_cast<std::size_t>(V) * sizeof(T) + 8);
  std::memcpy(bits.data(), to + (rows - 1) * x.pitch(), bits.size() - 8);
  std::memcpy(bits.data() + bits.size() - 8, &m.back(), 4);
  std::memcpy(bits.data() + bits.size() - 4, &d.back(), 4);
  return bits;
}

/// Row lengths of every rung, on the executor, with and without elements after the last whole access.
constexpr std::int64_t kLengths[] = {5,    100,   257,   500,   600,   1025,  2048,
                                     9001, 17003, 33000, 40001, 66001, 140003};

template <class T>
void same_bits_anywhere() {
  using Form = Invariant<Fast>;
  constexpr std::int64_t N = kPerAccess<T>;
  for (const std::int64_t V : kLengths) {
    const auto aligned = bits_of<Form, T>(V, 1, 0, 0, 0);
    const std::int64_t step = V > 3000 && N == 8 ? 3 : 1;
    for (std::int64_t past = 1; past < N; past += step) {
      ASSERT_EQ((bits_of<Form, T>(V, 1, 0, past, past)), aligned) << V << ", " << past;
      ASSERT_EQ((bits_of<Form, T>(V, 1, 0, past, 0)), aligned) << V << ", " << past;
      ASSERT_EQ((bits_of<Form, T>(V, 1, 0, 0, past)), aligned) << V << ", " << past;
    }
    ASSERT_EQ((bits_of<Form, T>(V, 1, 0, N, N)), aligned) << V;
    ASSERT_EQ((bits_of<Form, T>(V, 1, 0, 1, 1, true)), aligned) << V << ", in place";
    ASSERT_EQ((bits_of<Form, T>(V, 1, 0, 3, 2)), aligned) << V;
    ASSERT_EQ((bits_of<Form, T>(V, V > 10000 ? 3 : 70, 1, 0, 1)), aligned) << V << ", the last of many rows";
    ASSERT_EQ((bits_of<Form, T>(V, V > 10000 ? 3 : 70, 0, 1, 1)), aligned) << V << ", the last, without gaps";
  }
}
TEST(OnepassAnywhere, SameBitsF32) { same_bits_anywhere<f32>(); }
TEST(OnepassAnywhere, SameBitsF16) { same_bits_anywhere<f16>(); }
TEST(OnepassAnywhere, SameBitsBf16) { same_bits_anywhere<bf16>(); }

TEST(OnepassAnywhere, WithoutTheFormAlignmentShows) {
  int differ = 0;
  for (const std::int64_t V : {600, 1025, 9001, 33000})
    differ += bits_of<Fast, f32>(V, 1, 0, 1, 1) != bits_of<Fast, f32>(V, 1, 0, 0, 0);
  EXPECT_GT(differ, 0);
}

// Lanes exchange what lies between two multiples of 16 bytes. None of it is written beside the row.
TEST(OnepassAnywhere, NothingBesideTheRowIsTouched) {
  for (const std::int64_t V : kLengths) {
    if (V > 20000) continue;
    for (std::int64_t past = 1; past < 8; ++past) {
      Memory<f16> x(1, V + 16, past), p(1, V + 16, past);
      std::memset(p.row(0) - past, 0x5a, static_cast<std::size_t>(V + past + 16) * 2);
      for (std::int64_t j = 0; j < V; ++j) x.row(0)[j] = from_float<f16>(static_cast<float>(j % 31));
      const Problem problem{.op = Op::softmax, .rows = 1, .V = V, .in_pitch = V, .out_pitch = V};
      const Buffers buffers{.logits = x.row(0), .probs = p.row(0)};
      run<Invariant<Fast>>(Call<f16>(problem, buffers, Stream{}));
      const auto* const bytes = reinterpret_cast<const unsigned char*>(p.row(0));
      for (std::int64_t i = -2 * past; i < 0; ++i) ASSERT_EQ(bytes[i], 0x5a) << V << ", " << past;
      for (std::int64_t i = 2 * V; i < 2 * V + 32; ++i) ASSERT_EQ(bytes[i], 0x5a) << V << ", " << past;
    }
  }
}

// Rows without gaps go through shared memory, those of a block together. Each has the bits of a row that does
// not, because there is a gap behind it, and nothing beside them is touched.
template <class T>
void staged_rows(std::int64_t V, std::int64_t rows, std::int64_t in, std::int64_t out) {
  constexpr std::int64_t kGuard = 16;
  const auto value = [V](std::int64_t r, std::int64_t j) {
    return from_float<T>(static_cast<float>((r * V + j) * 7919 % 1009) / 100);
  };
  const auto softmax = [V](T* x, T* p, std::int64_t count, std::int64_t pitch, float* m, float* d) {
    const Problem problem{.op = Op::softmax, .rows = count, .V = V, .in_pitch = pitch, .out_pitch = pitch};
    const Buffers buffers{.logits = x, .probs = p, .m = m, .d = d};
    run<Fast>(Call<T>(problem, buffers, Stream{}));
  };
  const std::int64_t apart = ceil_div(V, std::int64_t{32}) * 32 + 32;
  Memory<T> x(1, rows * V + kGuard, in), p(1, rows * V + kGuard, out), two(2, apart, 0), of_two(2, apart, 0);
  std::memset(p.row(0) - out, 0x5a, static_cast<std::size_t>(out + rows * V + kGuard) * sizeof(T));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < V; ++j) x.row(0)[r * V + j] = value(r, j);
  std::vector<float> m(static_cast<std::size_t>(rows)), d(m);
  softmax(x.row(0), p.row(0), rows, V, m.data(), d.data());
  const auto bytes = static_cast<std::size_t>(V) * sizeof(T);
  for (std::int64_t r = 0; r < rows; r += r < 40 || r > rows - 3 ? 1 : 13) {
    float m_two[2] = {}, d_two[2] = {};
    for (std::int64_t j = 0; j < V; ++j) two.row(0)[j] = two.row(1)[j] = value(r, j);
    softmax(two.row(0), of_two.row(0), 2, apart, m_two, d_two);
    ASSERT_EQ(std::memcmp(p.row(0) + r * V, of_two.row(1), bytes), 0) << r << " of " << rows << ", V = " << V;
    ASSERT_EQ(m[static_cast<std::size_t>(r)], m_two[1]) << r << ", V = " << V;
    ASSERT_EQ(d[static_cast<std::size_t>(r)], d_two[1]) << r << ", V = " << V;
  }
  const auto* const before = reinterpret_cast<const unsigned char*>(p.row(0) - out);
  const auto* const after = reinterpret_cast<const unsigned char*>(p.row(0) + rows * V);
  for (std::size_t i = 0; i < static_cast<std::size_t>(out) * sizeof(T); ++i) ASSERT_EQ(before[i], 0x5a) << V;
  for (std::size_t i = 0; i < kGuard * sizeof(T); ++i) ASSERT_EQ(after[i], 0x5a) << V << ", " << rows;
}
TEST(OnepassAnywhere, RowsWithoutGapsAreStaged) {
  for (const std::int64_t V : {1, 2, 7, 63, 64, 129, 252, 257, 511})
    for (const std::int64_t rows : {1, 5, 67})
      for (std::int64_t past = 0; past < 8; past += rows == 67 ? 3 : 1) {
        staged_rows<f16>(V, rows, past, past * 5 % 8);
        if (past < 4 && V < 257) staged_rows<f32>(V, rows, past, past * 3 % 4);
      }
  staged_rows<bf16>(63, 300, 1, 1);
}

// A launch may begin while the kernel before it ends. In every rung, every thread waits for that end, also
// one without a row.
TEST(OnepassAnywhere, EveryThreadWaitsForTheKernelBefore) {
  for (const std::int64_t V : kLengths)
    for (const std::int64_t rows : {1, 3}) {
      const std::int64_t launched = overlapping_threads, waited = waiting_threads;
      bits_of<Fast, f32>(V, rows, 0, 0, 0);
      bits_of<Fast, f16>(V, rows, 1, 1, 1);
      bits_of<Fast, bf16>(V, rows, 0, 1, 1);
      EXPECT_GT(overlapping_threads, launched) << V;
      EXPECT_EQ(waiting_threads - waited, overlapping_threads - launched) << V << ", " << rows;
    }
}

// The logits are there only when the kernel before has ended: no thread reads them earlier.
float* late_logits = nullptr;
std::int64_t late_count = 0;
std::once_flag* late_once = nullptr;
void write_late_logits() {
  std::call_once(*late_once, [] {
    for (std::int64_t j = 0; j < late_count; ++j) late_logits[j] = static_cast<float>(j * 7919 % 1009) / 100;
  });
}
TEST(OnepassAnywhere, NothingIsReadBeforeTheKernelBeforeHasEnded) {
  for (const std::int64_t V : kLengths) {
    Memory<f32> x(1, V, 0), p(1, V, 0), expected(1, V, 0);
    const Problem problem{.op = Op::softmax, .rows = 1, .V = V, .in_pitch = V, .out_pitch = V};
    const auto softmax = [&](Memory<f32>& to) {
      run<Fast>(Call<f32>(problem, Buffers{.logits = x.row(0), .probs = to.row(0)}, Stream{}));
    };
    std::once_flag once;
    late_logits = x.row(0), late_count = V, late_once = &once;
    for (std::int64_t j = 0; j < V; ++j) x.row(0)[j] = std::numeric_limits<float>::quiet_NaN();
    rest_of_previous = write_late_logits;
    softmax(p);
    rest_of_previous = nullptr;
    softmax(expected);
    ASSERT_EQ(std::memcmp(p.row(0), expected.row(0), static_cast<std::size_t>(V) * sizeof(float)), 0) << V;
    ASSERT_EQ(p.row(0)[0], p.row(0)[0]) << V;
  }
}

}  // namespace
}  // namespace assay::host::onepass

namespace assay {

// The table of registers and blocks on a multiprocessor says what the compiler made of the kernels.

namespace {

TEST(OnepassResident, TheTableSaysWhatWasCompiled) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  ASSERT_NE(compiled_resident, nullptr);
  for (const RungOfTable& r : kResident) {
    std::string line = fmt::format("{{\"{}\", {}, {}, {}, {}", r.rung, r.count, r.threads, r.room, r.again);
    bool as_said = true;
    const std::pair<Dtype, Resident> columns[] = {
        {Dtype::f32, r.f32}, {Dtype::f16, r.f16}, {Dtype::bf16, r.bf16}};
    for (const auto& [dtype, said] : columns) {
      const std::optional<Resident> seen = compiled_resident(r, dtype);
      if (!seen) GTEST_SKIP() << "the table is of compute capability 9.0 and nvcc 13.0";
      as_said = as_said && *seen == said;
      line += fmt::format(", {{{}, {}}}", seen->registers, seen->blocks);
    }
    EXPECT_TRUE(as_said) << "the table needs the line\n    " << line << "},";
  }
}

// Where a step of the ladder counts on two blocks of a multiprocessor, there are two.
TEST(OnepassResident, HalfABlockLeavesRoomForASecond) {
  for (const RungOfTable& r : kResident)
    for (const Resident& seen : {r.f32, r.f16, r.bf16}) {
      EXPECT_GE(seen.blocks, r.threads <= 512 ? 2 : 1) << r.rung << ", " << r.count;
      EXPECT_GE(65536, seen.registers * r.threads * seen.blocks) << r.rung << ", " << r.count;
    }
}

}  // namespace
}  // namespace assay

namespace assay::host::onepass {

// The teams of blocks: the merge of their values takes any number of them, and keeps NaN; a step of the
// ladder holds its row; clusters of every size, on the host executor, give the right sum.

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

__global__ void merge_values(const Normalizer* values, int count, Normalizer* all) {
  all[threadIdx.x] = merge_all<AccurateExp>(values, count, static_cast<int>(threadIdx.x));
}

/// What every lane of a warp gets.
std::vector<Normalizer> merged(const std::vector<Normalizer>& values) {
  std::vector<Normalizer> all(32);
  launch(merge_values, 1, 32, 0, Stream{}, values.data(), static_cast<int>(values.size()), all.data());
  return all;
}

TEST(OnepassTeam, MergesAnyNumberOfValues) {
  for (const int count : {1, 31, 32, 33, 64, 512}) {
    std::vector<Normalizer> values(static_cast<std::size_t>(count), identity());
    values.back() = {0.0f, 4.0f};
    values.front() = {1.0f, 2.0f};
    for (const Normalizer& n : merged(values)) {
      EXPECT_EQ(n.m, 1.0f) << count;
      EXPECT_FLOAT_EQ(n.d, count == 1 ? 2.0f : 2.0f + 4.0f * std::exp(-1.0f)) << count;
    }
  }
}

// A slice of only -inf and NaN has the value (-inf, NaN). Wherever it stands, the row is NaN.
TEST(OnepassTeam, ANanBesideAnEmptyMaximumIsKept) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t count : {32u, 64u, 512u})
    for (std::size_t at = 0; at < count; at += 7) {
      std::vector<Normalizer> values(count, {0.0f, 256.0f});
      values[at] = {-kInfinity, nan};
      for (const Normalizer& n : merged(values)) EXPECT_TRUE(std::isnan(n.d)) << at << " of " << count;
      std::fill(values.begin(), values.end(), identity());
      values[at] = {-kInfinity, nan};
      for (const Normalizer& n : merged(values)) EXPECT_TRUE(std::isnan(n.d)) << at << " of " << count;
    }
}

// A step never asks for more threads than a block has, and holds the row unless it says that it does not.
TEST(OnepassTeam, AStepHoldsItsRow) {
  for (const Gpu gpu :
       {Gpu{}, Gpu{108, 0}, Gpu{108, 0, true}, Gpu{132, 8}, Gpu{132, 16}, Gpu{132, 16, true}, kHostExecutor})
    for (const std::int64_t rows : {1, 10, 200, 4000})
      for (std::int64_t V = 1; V < (std::int64_t{1} << 24); V += 1 + V / 37) {
        const Step s = step_for<f16>(V, rows, gpu);
        const std::int64_t whole = V / kPerAccess<f16>,
                           per_row = s.rung == Rung::lanes ? ceil_div(V, 8) : whole;
        ASSERT_LE(s.threads, kMostThreads) << V;
        if (s.rung == Rung::grid) {
          // Every block has its place: two of 512 threads or one of 1024 on a multiprocessor.
          const std::int64_t each = s.room == 0 && s.threads <= kMostThreads / 2 ? 2 : 1;
          ASSERT_LE(rows * s.blocks, each * gpu.multiprocessors) << V << ", " << rows;
          ASSERT_LE(s.blocks, kMostTeam) << V;
          ASSERT_LE(rows, kMostTeams) << V;
        } else {
          ASSERT_LE(s.blocks, std::max(gpu.most_blocks, 1)) << V;
        }
        ASSERT_LE(s.room, gpu.room) << V;
        ASSERT_TRUE(s.blocks == 1 || s.rung == Rung::grid || s.blocks * s.threads <= gpu.cluster_threads)
            << V;
        ASSERT_TRUE(s.room == 0 || gpu.most_blocks > 0) << V;
        const std::int64_t held = (std::int64_t{s.threads} * s.count + s.room) * s.blocks;
        if (s.again) {
          ASSERT_GT(per_row, held) << V << ", " << rows;
        } else {
          ASSERT_GE(held, per_row) << V << ", " << rows;
        }
      }
}

/// Additions on the longest path of a step with a team of blocks.
template <class T>
std::int64_t longest_path(const Step& s, std::int64_t V) {
  const std::int64_t slice = slice_of(V / kPerAccess<T>, s.blocks);
  const std::int64_t own = std::int64_t{s.count} * kPerAccess<T>;
  const std::int64_t tiles = s.again ? ceil_div(slice, std::int64_t{s.threads} * s.count) : 1;
  const std::int64_t boxes = ceil_div(s.room, std::int64_t{s.threads} * 2);  // as boxed_rung takes them out
  const std::int64_t values = s.blocks * s.threads / 32;
  return own + 1 + (tiles - 1) + boxes + 5 + (ceil_div(values, 32) - 1) + 5;
}
TEST(OnepassTeam, TheClaimedHeightCoversEveryStep) {
  for (const Gpu gpu : {Gpu{}, Gpu{108, 0}, Gpu{132, 8}, Gpu{132, 16}, kHostExecutor})
    for (const std::int64_t rows : {1, 10, 200, 4000})
      for (std::int64_t V = 600; V < (std::int64_t{1} << 24); V += 1 + V / 37) {
        const Step s = step_for<f16>(V, rows, gpu), t = step_for<f32>(V, rows, gpu);
        if (s.rung != Rung::lanes && s.rung != Rung::warp) {
          ASSERT_LE(longest_path<f16>(s, V), (height<Fast, f16>(V))) << V << ", " << rows << ", " << s.blocks;
        }
        if (t.rung != Rung::lanes && t.rung != Rung::warp) {
          ASSERT_LE(longest_path<f32>(t, V), (height<Fast, f32>(V))) << V << ", " << rows << ", " << t.blocks;
        }
      }
}

/// The softmax of two rows by one step, whatever step the ladder would take. `past`: elements between a
/// multiple of 16 bytes and the first row.
void expect_softmax(const Step& s, std::int64_t V, std::int64_t past) {
  std::vector<float> storage(static_cast<std::size_t>(2 * (V + 3) + past + 16)), out(storage.size());
  const auto first = [past](std::vector<float>& v) {
    const auto at = reinterpret_cast<std::uintptr_t>(v.data());
    return v.data() + (32 - at % 32) % 32 / 4 + past;
  };
  float *const x = first(storage), *const p = first(out);
  float m_out[2], d_out[2];
  for (std::int64_t i = 0; i < 2 * (V + 3); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 100;
  const Problem problem{.op = Op::softmax, .rows = 2, .V = V, .in_pitch = V + 3, .out_pitch = V + 3};
  const Buffers buffers{.logits = x, .probs = p, .m = m_out, .d = d_out};
  const Call<float> call(problem, buffers, Stream{});
  if (s.rung == Rung::boxed)
    launch_parts_in_clusters(call, boxed_rung<Accurate, Cluster, float, 8>, s, s.room);
  else if (s.again)
    launch_team<Accurate, float, 8, true>(call, s);
  else
    launch_team<Accurate, float, 8, false>(call, s);
  for (std::int64_t r = 0; r < 2; ++r) {
    const float* const row = x + r * (V + 3);
    const double most = *std::max_element(row, row + V);
    double sum = 0;
    for (std::int64_t j = 0; j < V; ++j) sum += std::exp(row[j] - most);
    EXPECT_EQ(m_out[r], static_cast<float>(most));
    EXPECT_NEAR(d_out[r] / sum, 1, 1e-5);
    for (std::int64_t j = 0; j < V; ++j)
      ASSERT_NEAR(p[r * (V + 3) + j] * sum / std::exp(row[j] - most), 1, 1e-5)
          << j << " of " << V << ", " << s.blocks << " blocks, room " << s.room << ", past " << past;
  }
}

TEST(OnepassTeam, ClustersOfEverySize) {
  for (const int blocks : {2, 4, 8, 16})
    for (const std::int64_t past : {0, 1, 5}) {
      const std::int64_t held =
          std::int64_t{blocks} * 32 * 8 * 4;  // elements in the registers of the cluster
      for (const std::int64_t V : {held - 7, held / 2, std::int64_t{29}, std::int64_t{5}})
        expect_softmax({Rung::cluster, 8, 32, blocks}, V, past);
      expect_softmax({Rung::cluster, 8, 32, blocks, true}, 5 * held / 2 + 3, past);
      expect_softmax({Rung::boxed, 8, 32, blocks, false, 100}, held + 90 * blocks * 4, past);
      expect_softmax({Rung::boxed, 8, 32, blocks, false, 100}, 300, past);
    }
}

}  // namespace
}  // namespace assay::host::onepass
