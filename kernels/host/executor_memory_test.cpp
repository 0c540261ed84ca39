// SPDX-License-Identifier: Apache-2.0
// Shared memory of the executor: it is poisoned for every block, its arrays are apart, and AddressSanitizer
// guards their ends. Atomics and vector types are tested here too.
#include <array>
#include <set>
#include <vector>

#include "kernels/host/executor_test.hpp"

namespace assay::host_test {
namespace {

/// What a word of shared memory holds before it is written.
enum class Pattern { nan, large, neither };
Pattern pattern_of(float x) {
  return std::isnan(x) ? Pattern::nan : x > 0x1p99f && x < 0x1p101f ? Pattern::large : Pattern::neither;
}

TEST(Executor, SharedMemoryIsPoisonedForEveryBlock) {
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    const Seeded seeded(seed);
    unsigned wrong = 0;
    launch(5, 32, 64 * sizeof(float), [&] {
      ASSAY_DYNAMIC_SHARED(float, dynamic);
      ASSAY_SHARED(float, wide, 40);
      ASSAY_SHARED(__half, half, 40);
      ASSAY_SHARED(__nv_bfloat16, brain, 40);
      const unsigned t = threadIdx.x;
      // The two patterns alternate. The seed decides which one comes first.
      const Pattern even = seed % 2 ? Pattern::large : Pattern::nan;
      const Pattern odd = seed % 2 ? Pattern::nan : Pattern::large;
      const bool fresh =
          pattern_of(dynamic[2 * t]) == even && pattern_of(dynamic[2 * t + 1]) == odd &&
          pattern_of(wide[t]) == (reinterpret_cast<std::uintptr_t>(wide + t) / 4 % 2 ? odd : even) &&
          (__hisnan(half[t]) || __half2float(half[t]) > 1e4f) &&
          pattern_of(__bfloat162float(brain[t])) != Pattern::neither;
      if (!fresh) atomicAdd(&wrong, 1u);
      __syncthreads();
      dynamic[2 * t] = dynamic[2 * t + 1] = wide[t] = 1;
      half[t] = 1.0f;
      brain[t] = 1.0f;
    });
    EXPECT_EQ(wrong, 0u) << seed;
  }
}

/// A maximum over slots, some of which were not written. It would drop a poison of NaN alone.
TEST(Executor, AMaximumOverUnwrittenSlotsShows) {
  for (const std::uint64_t seed : {0u, 1u}) {
    const Seeded seeded(seed);
    float maximum = 0;
    launch(1, 32, [&] {
      ASSAY_SHARED(float, slots, 32);
      if (threadIdx.x < 4) slots[threadIdx.x] = 1;
      __syncthreads();
      if (threadIdx.x == 0)
        for (int i = 0; i < 32; ++i) maximum = fmaxf(maximum, slots[i]);
    });
    EXPECT_GT(maximum, 0x1p99f) << seed;
  }
}

#if !defined(__SANITIZE_ADDRESS__)
/// AddressSanitizer stops such a write where it happens.
TEST(Executor, WritesPastSharedMemoryAreFaults) {
  const auto past_dynamic = [](std::size_t bytes, std::size_t at) {
    return fault_of(3, 1, bytes, [=] {
      ASSAY_DYNAMIC_SHARED(char, dynamic);
      dynamic[at] = 1;
    });
  };
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{10}, std::size_t{64}, std::size_t{4099}}) {
    if (bytes > 0) {
      EXPECT_EQ(past_dynamic(bytes, bytes - 1), "");
    }
    for (const std::size_t beyond : {0, 1, 7, 100, 255})
      EXPECT_NE(past_dynamic(bytes, bytes + beyond)
                    .find("shared memory was written past the end of the " + std::to_string(bytes) +
                          " bytes of dynamic shared memory that the launch asked for (block 0, 0, 0)"),
                std::string::npos)
          << bytes << " " << beyond;
  }
  const auto past_static = [](int which, int at) {
    return fault_of(2, 32, 12, [=] {
      ASSAY_DYNAMIC_SHARED(float, dynamic);
      ASSAY_SHARED(float, first, 7);
      ASSAY_SHARED(float, second, 9);
      float* const arrays[] = {dynamic, first, second};
      __syncthreads();
      if (blockIdx.x == 1 && threadIdx.x == 5) arrays[which][at] = 1;
    });
  };
  EXPECT_EQ(past_static(0, 2) + past_static(1, 6) + past_static(2, 8), "");
  EXPECT_NE(past_static(0, 3).find("12 bytes of dynamic"), std::string::npos);
  EXPECT_NE(past_static(1, 7).find("static array of 28 bytes (block 1, 0, 0)"), std::string::npos);
  EXPECT_NE(past_static(2, 9).find("static array of 36 bytes"), std::string::npos);
  EXPECT_NE(past_static(2, 40).find("static array of 36 bytes"), std::string::npos);
  // The next launch is not affected.
  EXPECT_EQ(past_static(2, 0), "");
}
#endif

/// The address of one array. Every thread asks for it.
template <int N>
double* array_of() {
  ASSAY_SHARED(double, array, N);
  return array;
}

TEST(Executor, SharedArraysAreTheBlocksAndApart) {
  std::set<const char*> seen[4];
  launch(1, 1, 100, [&] {
    ASSAY_DYNAMIC_SHARED(char, dynamic);
    seen[0].insert(dynamic);
  });
  std::array<std::array<char*, 64>, 5> places{};
  for (std::uint64_t seed : {0u, 1u, 2u}) {
    const Seeded seeded(seed);
    launch(1, 64, 100, [&] {
      const unsigned t = threadIdx.x;
      ASSAY_DYNAMIC_SHARED(char, dynamic);
      ASSAY_SHARED(char, odd, 3);
      places[0][t] = dynamic;
      places[1][t] = odd;
      // Threads name the arrays in different orders, and every instance of a template has its own array.
      if (t % 2) places[2][t] = reinterpret_cast<char*>(array_of<5>());
      places[3][t] = reinterpret_cast<char*>(array_of<6>());
      if (t % 2 == 0) places[2][t] = reinterpret_cast<char*>(array_of<5>());
      ASSAY_SHARED(float4, vectors, 2);
      places[4][t] = reinterpret_cast<char*>(vectors);
    });
    const std::size_t bytes[5] = {100, 3, 40, 48, 32}, align[5] = {16, 1, 8, 8, 16};
    for (std::size_t a = 0; a < 5; ++a) {
      for (char* p : places[a]) ASSERT_EQ(p, places[a][0]);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(places[a][0]) % align[a], 0u);
      for (std::size_t b = 0; b < 5; ++b)
        if (a != b) {
          EXPECT_TRUE(places[a][0] + bytes[a] <= places[b][0] || places[b][0] + bytes[b] <= places[a][0]);
        }
    }
  }
}

TEST(Executor, SharedMemoryLimits) {
  const auto takes = [](auto bytes) {
    return [] {
      ASSAY_SHARED(char, array, decltype(bytes)::value);
      array[threadIdx.x] = 0;
    };
  };
  using Most = std::integral_constant<int, 49152>;
  using More = std::integral_constant<int, 49153>;
  EXPECT_EQ(fault_of(2, 2, takes(Most{})), "");
  EXPECT_NE(fault_of(2, 2, takes(More{})).find("static shared memory exceeds 49152"), std::string::npos);
  EXPECT_EQ(fault_of(2, 2, executor::kMaxShared - 49152, takes(Most{})), "");
  EXPECT_NE(fault_of(2, 2, executor::kMaxShared - 49151, takes(Most{})).find("shared memory exceeds 232448"),
            std::string::npos);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(Executor, SharedMemoryIsFenced) {
  const auto writes_static = [](int index) {
    launch(1, 32, [=] {
      ASSAY_SHARED(float, first, 7);
      ASSAY_SHARED(float, second, 7);
      second[0] = 0;
      float* const p = first;  // so that UBSan sees a pointer and not an array
      p[index] = 1;
    });
  };
  writes_static(6);
  EXPECT_DEATH(writes_static(7), "use-after-poison");
  EXPECT_DEATH(writes_static(-1), "use-after-poison");
  const auto writes_dynamic = [](int index) {
    launch(1, 32, 10, [=] {
      ASSAY_DYNAMIC_SHARED(char, bytes);
      bytes[index] = 1;
    });
  };
  writes_dynamic(9);
  EXPECT_DEATH(writes_dynamic(10), "use-after-poison");
  // AddressSanitizer also stops a write to an array of another block.
  EXPECT_DEATH(
      {
        char* kept = nullptr;
        launch(2, 1, [&] {
          ASSAY_SHARED(char, own, 64);
          if (blockIdx.x == 0)
            kept = own;
          else
            *kept = 1;
        });
        launch(2, 1, [&] {
          if (blockIdx.x == 1) *kept = 1;
        });
      },
      "use-after-poison");
}
#endif

TEST(Executor, Atomics) {
  for (std::uint64_t seed : {0u, 5u}) {
    const Seeded seeded(seed);
    int sum = 0, largest = -1, smallest = 1000, swapped = -1;
    unsigned ored = 0, anded = ~0u, taken = 0, winner = ~0u;
    float total = 0;
    launch(2, 64, [&] {
      const int t = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
      atomicAdd(&sum, t);
      atomicAdd(&total, 0.5f);
      atomicMax(&largest, t);
      atomicMin(&smallest, t);
      atomicOr(&ored, 1u << t % 32);
      atomicAnd(&anded, ~(1u << t % 16));
      if (atomicExch(&swapped, t) >= 0) atomicAdd(&taken, 1u);
      atomicCAS(&winner, ~0u, static_cast<unsigned>(t));
    });
    EXPECT_EQ(sum, 127 * 64);
    EXPECT_EQ(total, 64);
    EXPECT_EQ(largest, 127);
    EXPECT_EQ(smallest, 0);
    EXPECT_EQ(ored, ~0u);
    EXPECT_EQ(anded, 0xffff0000u);
    EXPECT_EQ(taken, 127u);
    EXPECT_LT(winner, 128u);
  }
}

}  // namespace
}  // namespace assay::host_test
