// SPDX-License-Identifier: Apache-2.0
// Warp collectives compared with a direct model of the CUDA guide: every kind, width and argument, partial
// masks, several masks at once, and last warps that are not full.
#include <array>
#include <bit>
#include <functional>
#include <vector>

#include "kernels/host/executor_test.hpp"

namespace assay::host_test {
namespace {

enum class Kind { idx, up, down, exclusive_or };
constexpr Kind kKinds[] = {Kind::idx, Kind::up, Kind::down, Kind::exclusive_or};

/// The lane that `lane` reads (CUDA guide, warp shuffle functions).
int model_source(Kind kind, int lane, int argument, int width) {
  const int first = lane - lane % width;
  switch (kind) {
    case Kind::idx:
      return first + ((argument % width) + width) % width;
    case Kind::up:
      return lane - argument < first ? lane : lane - argument;
    case Kind::down:
      return lane + argument >= first + width ? lane : lane + argument;
    case Kind::exclusive_or:
      return (lane ^ argument) >= first + width ? lane : lane ^ argument;
  }
  return -1;
}

template <class T>
T shuffle_by(Kind kind, unsigned mask, T v, int argument, int width) {
  switch (kind) {
    case Kind::idx:
      return __shfl_sync(mask, v, argument, width);
    case Kind::up:
      return __shfl_up_sync(mask, v, static_cast<unsigned>(argument), width);
    case Kind::down:
      return __shfl_down_sync(mask, v, static_cast<unsigned>(argument), width);
    case Kind::exclusive_or:
      return __shfl_xor_sync(mask, v, argument, width);
  }
  return v;
}

/// One warp of `lanes` lanes. Those in the mask shuffle, the others exit. A read outside the mask is a fault.
void check_shuffle(Kind kind, unsigned mask, unsigned lanes, int width,
                   const std::function<int(int)>& argument) {
  bool inside = true;
  std::vector<int> expected(32, -1), got(32, -1);
  for (int l = 0; l < 32; ++l) {
    if (!(mask >> l & 1)) continue;
    const int source = model_source(kind, l, argument(l), width);
    inside = inside && (mask >> source & 1);
    expected[static_cast<std::size_t>(l)] = 1000 + source;
  }
  const std::string fault = fault_of(1, lanes, [&] {
    const int l = static_cast<int>(threadIdx.x);
    if (mask >> l & 1)
      got[static_cast<std::size_t>(l)] = shuffle_by(kind, mask, 1000 + l, argument(l), width);
  });
  ASSERT_EQ(fault.empty(), inside) << fault;
  if (inside) {
    ASSERT_EQ(got, expected) << static_cast<int>(kind) << " mask " << mask << " width " << width;
  }
}

TEST(Executor, ShufflesAgainstModel) {
  const std::vector<unsigned> masks = {~0u, 0x0000ffffu, 0xff00ff00u, 0xaaaaaaaau, 0x80000001u, 1u << 13};
  for (Kind kind : kKinds)
    for (unsigned mask : masks)
      for (int width : {32, 16, 8, 4, 2, 1})
        for (int argument : {0, 1, 2, 3, 7, 8, 15, 16, 17, 30, 31}) {
          if (kSlow && (argument > 2 || mask != ~0u)) continue;
          check_shuffle(kind, mask, 32, width, [=](int) { return argument; });
        }
}

TEST(Executor, ShuffleArgumentsMayDifferByLane) {
  for (int width : {32, 16, 8}) {
    check_shuffle(Kind::idx, ~0u, 32, width, [](int l) { return (l * 7 + 3) % 32; });
    check_shuffle(Kind::idx, ~0u, 32, width, [](int l) { return -l; });
    check_shuffle(Kind::idx, ~0u, 32, width, [](int l) { return 31 + l; });
    check_shuffle(Kind::up, ~0u, 32, width, [](int l) { return l % 5; });
    check_shuffle(Kind::down, ~0u, 32, width, [](int l) { return l % 3; });
  }
  unsigned wrong = 0;  // a delta larger than the warp acts like one that leaves the segment
  launch(1, 32, [&] {
    if (__shfl_down_sync(~0u, threadIdx.x, ~0u) != threadIdx.x) atomicAdd(&wrong, 1u);
    if (__shfl_up_sync(~0u, threadIdx.x, ~0u) != threadIdx.x) atomicAdd(&wrong, 1u);
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Executor, LastWarpThatIsNotFull) {
  for (unsigned lanes : {1u, 2u, 5u, 16u, 31u}) {
    const unsigned mask = (1u << lanes) - 1;
    for (Kind kind : kKinds)
      for (int argument : {0, 1, 2, 4}) check_shuffle(kind, mask, lanes, 32, [=](int) { return argument; });
    unsigned wrong = 0;
    launch(1, 64 + lanes, [&] {
      const bool last = threadIdx.x >= 64;
      const unsigned here = last ? mask : ~0u;
      if (__activemask() != here || __ballot_sync(here, 1) != here) atomicAdd(&wrong, 1u);
    });
    EXPECT_EQ(wrong, 0u) << lanes;
  }
}

TEST(Executor, ShuffledTypesKeepTheirBits) {
  unsigned wrong = 0;
  launch(1, 32, [&] {
    const unsigned l = threadIdx.x, o = l ^ 5;
    const auto check = [&](auto make) {
      if (!(__shfl_xor_sync(~0u, make(l), 5) == make(o))) atomicAdd(&wrong, 1u);
    };
    check([](unsigned i) { return static_cast<signed char>(-static_cast<int>(i)); });
    check([](unsigned i) { return static_cast<short>(-1000 * static_cast<int>(i)); });
    check([](unsigned i) { return -static_cast<long long>(i) << 40; });
    check([](unsigned i) { return 0x1.23456789abcdep-300 * i; });
    check([](unsigned i) { return -0.1f * static_cast<float>(i); });
    if (__half_as_ushort(__shfl_xor_sync(~0u, __ushort_as_half(static_cast<std::uint16_t>(l)), 5)) != o)
      atomicAdd(&wrong, 1u);
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Executor, DisjointMasksAtTheSameTime) {
  // Even and odd lanes of one warp exchange in turn, with different kinds and numbers of steps.
  for (std::uint64_t seed = 0; seed < (kSlow ? 2 : 10); ++seed) {
    const Seeded seeded(seed);
    std::array<unsigned, 32> got{};
    launch(1, 32, [&] {
      unsigned v = 1u << threadIdx.x;
      if (threadIdx.x % 2 == 0) {
        for (int lanes = 16; lanes >= 2; lanes /= 2) v |= __shfl_xor_sync(0x55555555u, v, lanes);
      } else {
        v = __reduce_or_sync(0xaaaaaaaau, v);
        v ^= __ballot_sync(0xaaaaaaaau, threadIdx.x > 15);
      }
      got[threadIdx.x] = v;
    });
    for (unsigned l = 0; l < 32; ++l) ASSERT_EQ(got[l], l % 2 == 0 ? 0x55555555u : 0x0000aaaau) << seed;
  }
}

TEST(Executor, LateLanesKeepTheirResult) {
  // Lanes that wake first enter collectives of a smaller mask before the others have woken. The others still
  // get the results of the first collective.
  for (std::uint64_t seed = 0; seed < (kSlow ? 4 : 40); ++seed) {
    const Seeded seeded(seed);
    std::array<unsigned, 32> got{};
    launch(1, 32, [&] {
      const unsigned l = threadIdx.x;
      const unsigned v = __shfl_xor_sync(~0u, 100 + l, 3);
      unsigned w = 0;
      if (l % 3 == 0) w = __shfl_sync(1u << l, 7777u, static_cast<int>(l));
      if (l >= 24) w += __reduce_add_sync(0xff000000u, 5u);
      got[l] = v + 0 * w;
    });
    for (unsigned l = 0; l < 32; ++l) ASSERT_EQ(got[l], 100 + (l ^ 3)) << "seed " << seed << " lane " << l;
  }
}

TEST(Executor, VotesMatchesAndReductions) {
  for (unsigned mask : {~0u, 0x0000ffffu, 0x80000001u, 0x5a5a5a5au, 1u << 31})
    for (unsigned modulus : {1u, 2u, 3u, 40u}) {
      unsigned yes = 0, sum = 0, largest = 0, smallest = ~0u, conjunction = ~0u, disjunction = 0, parity = 0;
      const auto value = [=](unsigned l) { return (l * 0x9e3779b9u) >> (l % 7); };
      for (unsigned l = 0; l < 32; ++l) {
        if (!(mask >> l & 1)) continue;
        yes |= l % modulus == 0 ? 1u << l : 0;
        sum += value(l);
        largest = max(largest, value(l));
        smallest = min(smallest, value(l));
        conjunction &= value(l);
        disjunction |= value(l);
        parity ^= value(l);
      }
      unsigned wrong = 0;
      launch(1, 32, [&] {
        const unsigned l = threadIdx.x;
        if (!(mask >> l & 1)) return;
        const int p = l % modulus == 0 ? 4 : 0;
        bool right = __ballot_sync(mask, p) == yes && (__all_sync(mask, p) != 0) == (yes == mask) &&
                     (__any_sync(mask, p) != 0) == (yes != 0);
        right =
            right && __reduce_add_sync(mask, value(l)) == sum &&
            __reduce_max_sync(mask, value(l)) == largest && __reduce_min_sync(mask, value(l)) == smallest &&
            __reduce_and_sync(mask, value(l)) == conjunction &&
            __reduce_or_sync(mask, value(l)) == disjunction && __reduce_xor_sync(mask, value(l)) == parity;
        unsigned same = 0;
        for (unsigned o = 0; o < 32; ++o) same |= (mask >> o & 1) && o % modulus == l % modulus ? 1u << o : 0;
        right = right && __match_any_sync(mask, l % modulus) == same;
        int predicate = -1;
        const unsigned whole = __match_all_sync(mask, l % modulus, &predicate);
        right = right && whole == (same == mask ? mask : 0) && predicate == (same == mask);
        if (!right) atomicAdd(&wrong, 1u);
      });
      EXPECT_EQ(wrong, 0u) << mask << " " << modulus;
    }
}

/// A warp collective waits for the threads of its mask that have not exited, and for no others (CUDA guide).
TEST(Executor, ExitedLanesAreNotWaitedFor) {
  for (std::uint64_t seed = 0; seed < (kSlow ? 3 : 20); ++seed) {
    const Seeded seeded(seed);
    // A warp holds several rows. The lanes of rows past the end exit; the others shuffle among themselves
    // with the mask of the whole warp.
    std::vector<unsigned> sums(32, 0);
    const std::string fault = fault_of(1, 32, [&] {
      const unsigned l = threadIdx.x;
      if (l / 8 == 2) return;
      unsigned v = l;
      for (int o = 4; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o, 8);
      __syncwarp();
      if (l / 8 == 0) return;
      v += __shfl_sync(~0u, v, 0, 8);
      sums[l] = v + (__ballot_sync(~0u, 1) == 0xff00ff00u) + (__all_sync(~0u, 1) != 0);
    });
    ASSERT_EQ(fault, "") << "seed " << seed;
    for (unsigned l = 0; l < 32; ++l)
      ASSERT_EQ(sums[l], l / 8 % 2 == 0 ? 0 : 2 * (8 * (l / 8 * 8) + 28) + 2) << "seed " << seed << " " << l;
  }
  // Lanes past the end of the block are not waited for.
  unsigned votes = 0;
  EXPECT_EQ(fault_of(1, 40,
                     [&] {
                       __syncwarp();
                       if (threadIdx.x >= 32) atomicOr(&votes, __ballot_sync(~0u, 1));
                     }),
            "");
  EXPECT_EQ(votes, 0xffu);
}

TEST(Executor, ActiveMasksOfLanesThatSawOthersExit) {
  // Some lanes ask before lane 5 exits, some after. Their masks differ only by a lane that is not alive.
  for (std::uint64_t seed = 0; seed < (kSlow ? 3 : 20); ++seed) {
    const Seeded seeded(seed);
    unsigned wrong = 0;
    const std::string fault = fault_of(1, 32, [&] {
      if (threadIdx.x == 5) return;
      const unsigned v = __shfl_sync(__activemask(), threadIdx.x, 7);
      if (v != 7) atomicAdd(&wrong, 1u);
    });
    ASSERT_EQ(fault, "") << "seed " << seed;
    ASSERT_EQ(wrong, 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace assay::host_test
