// SPDX-License-Identifier: Apache-2.0
// Clusters: their blocks run at the same time, reach each other's shared memory, and wait for each other.
// Every planted fault is seen, under every schedule: by the executor, or by ThreadSanitizer.
#include <array>
#include <cstdlib>
#include <vector>

#include "kernels/fault_kind.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/executor_test.hpp"

namespace assay::host_test {
namespace {

using executor::Site;

// The words of a cluster, as building_blocks/onepass/barrier.cuh has them.
template <class T>
T* peer(T* own, unsigned rank, const Site& site = Site::current()) {
  return static_cast<T*>(executor::peer_shared(own, static_cast<int>(rank), site));
}
void arrive(bool release = true, const Site& site = Site::current()) {
  executor::cluster_arrive(release, site);
}
void wait(const Site& site = Site::current()) { executor::cluster_wait(site); }
void start(std::uint64_t* word, const Site& site = Site::current()) {
  executor::mbarrier_start(word, 1, site);
}
void expect(std::uint64_t* word, int bytes, const Site& site = Site::current()) {
  executor::mbarrier_expect(word, bytes, site);
}
void wait_for(std::uint64_t* word, unsigned parity, const Site& site = Site::current()) {
  executor::mbarrier_wait(word, parity, site);
}
void send(std::uint64_t* to, std::uint64_t value, std::uint64_t* word, const Site& site = Site::current()) {
  executor::transfer({to, nullptr, value, 8,
                      [](const executor::Transfer& t) { *static_cast<std::uint64_t*>(t.to) = t.value; }},
                     word, site);
}
unsigned size_of_cluster = 0;  // of the running launch
unsigned rank() { return blockIdx.x % size_of_cluster; }

template <class Kernel>
void launch_clusters(unsigned clusters, unsigned blocks, unsigned threads, const Kernel& kernel,
                     std::size_t shared = 0) {
  size_of_cluster = blocks;
  executor::run(
      clusters * blocks, threads, shared, [](const void* k) { (*static_cast<const Kernel*>(k))(); }, &kernel,
      blocks);
}
/// The text of the fault, the same for every schedule but for where the threads are.
template <class Kernel>
std::string cluster_fault(unsigned blocks, unsigned threads, std::uint64_t seed, const Kernel& kernel) {
  const Seeded seeded(seed);
  try {
    launch_clusters(2, blocks, threads, kernel);
  } catch (const executor::Fault& fault) {
    return fault.what();
  }
  return "";
}
constexpr std::uint64_t kSeeds = kSlow ? 2 : 8;
template <class Kernel>
void expect_fault(unsigned blocks, unsigned threads, const std::vector<std::string>& parts,
                  const Kernel& kernel) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string fault = cluster_fault(blocks, threads, seed, kernel);
    for (const std::string& part : parts)
      EXPECT_NE(fault.find(part), std::string::npos)
          << "seed " << seed << ": " << fault << "\nlacks: " << part;
    // Nothing is left behind.
    std::vector<unsigned> ran(3);
    launch_clusters(1, 3, 33, [&] { atomicAdd(&ran[rank()], 1u); });
    EXPECT_EQ(ran, std::vector<unsigned>(3, 33));
  }
}

/// Every block sends its rank to all blocks of its cluster, and each returns the sum of what it got. What is
/// left out is a planted fault.
struct Exchange {
  unsigned extra_bytes = 0;
  int missing_sends = 0;
  bool starts = true, meets = true, waits = true, reads_first = false, ends_early = false, repeats = false;
  unsigned* out;

  void operator()() const {
    ASSAY_SHARED(std::uint64_t, word, 1);
    ASSAY_SHARED(std::uint64_t, values, 16);
    const unsigned blocks = size_of_cluster;
    for (unsigned round = 0; round < (repeats ? 3u : 1u); ++round) {
      if (threadIdx.x == 0) {
        if (starts && round == 0) start(word);
        expect(word, static_cast<int>(8 * blocks + extra_bytes));
      }
      if (meets) {
        arrive(round > 0);
        wait();
      }
      if (ends_early && rank() == 0) return;
      if (threadIdx.x < blocks - static_cast<unsigned>(rank() == 1 ? missing_sends : 0))
        send(peer(values + rank(), threadIdx.x), rank() + round, peer(word, threadIdx.x));
      if (waits && !(reads_first && threadIdx.x == 31)) wait_for(word, round % 2);
      if (threadIdx.x == 31) {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < blocks; ++i) sum += values[i];
        out[blockIdx.x] = static_cast<unsigned>(sum);
      }
      if (repeats) {  // nobody sends the next values before these have been read
        arrive();
        wait();
      }
    }
  }
};
unsigned sums_of_blocks[64];  // global memory

TEST(ExecutorCluster, BlocksExchangeValues) {
  for (const unsigned blocks : {1u, 2u, 5u, 16u})
    for (const bool repeats : {false, true})
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const Seeded seeded(seed);
        launch_clusters(3, blocks, 64, Exchange{.repeats = repeats, .out = sums_of_blocks});
        for (unsigned b = 0; b < 3 * blocks; ++b)
          ASSERT_EQ(sums_of_blocks[b], blocks * (blocks - 1) / 2 + (repeats ? 2 * blocks : 0))
              << blocks << ", " << seed;
      }
}

TEST(ExecutorCluster, ReadingBeforeTheWaitFindsPoison) {
  if (kSlow) GTEST_SKIP() << "a race: see ExecutorCluster.RaceBeforeTheWait";
  // Without the wait the block may end before its values have arrived, and that is a fault, too. Here it
  // waits after it has read.
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Seeded seeded(seed);
    unsigned wrong = 0;
    launch_clusters(2, 4, 32, [&] {
      ASSAY_SHARED(std::uint64_t, word, 1);
      ASSAY_SHARED(std::uint64_t, values, 4);
      if (threadIdx.x == 0) {
        start(word);
        expect(word, 32);
      }
      arrive(false);
      wait();
      if (threadIdx.x < 4) send(peer(values + rank(), threadIdx.x), 7, peer(word, threadIdx.x));
      __syncwarp();
      if (threadIdx.x > 0) return;
      atomicAdd(&wrong, static_cast<unsigned>(values[0] != 7));
      wait_for(word, 0);
      if (values[0] != 7) throw 1;
    });
    EXPECT_EQ(wrong, 8u) << seed << ": values arrive as late as they may";
  }
}

TEST(ExecutorCluster, TooFewBytes) {
  expect_fault(
      3, 32,
      {"no thread can go on", "an mbarrier's wait (8 bytes have not arrived)", "executor_cluster_test.cpp:"},
      Exchange{.missing_sends = 1, .out = sums_of_blocks});
  expect_fault(3, 32, {"no thread can go on", "(16 bytes have not arrived)"},
               Exchange{.extra_bytes = 16, .out = sums_of_blocks});
}
TEST(ExecutorCluster, TooManyBytes) {
  static bool before;
  const auto kernel = [] {
    ASSAY_SHARED(std::uint64_t, word, 1);
    ASSAY_SHARED(std::uint64_t, value, 1);
    if (threadIdx.x > 0) return;
    start(word);
    expect(word, 8);
    send(value, 1, word);
    if (before) send(value, 1, word);
    wait_for(word, 0);
    if (!before) send(value, 1, word);
  };
  before = true;
  // Under ThreadSanitizer all bytes arrive when they are sent, so the phase ends with the first eight.
  const std::string more = "an mbarrier got 8 bytes more than it was to expect";
  expect_fault(2, 32, {kSlow ? more : "an mbarrier's wait (8 bytes too many have arrived)"}, kernel);
  before = false;
  expect_fault(2, 32, {kSlow ? more : "a block ended while 8 bytes were on their way to it"}, kernel);
}
TEST(ExecutorCluster, EndsWhileAPeerStillSends) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string fault = cluster_fault(4, 32, seed, Exchange{.ends_early = true, .out = sums_of_blocks});
    // A block of one warp either ends before anybody sends to it, or something is on its way to it.
    EXPECT_TRUE(fault.find("a block that has ended") != fault.npos ||
                fault.find("a block ended while") != fault.npos)
        << fault;
  }
  // The same where every block leaves without its values. Under ThreadSanitizer that is a race, below.
  if (kSlow) return;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_NE(cluster_fault(4, 32, seed, Exchange{.waits = false, .out = sums_of_blocks}), "") << seed;
}
TEST(ExecutorCluster, AnMbarrierThatNobodyStarted) {
  expect_fault(2, 32, {"an mbarrier is used that nobody has started"},
               Exchange{.starts = false, .out = sums_of_blocks});
}
TEST(ExecutorCluster, SendsBeforeTheClusterHasMet) {
  // Whoever comes first finds the peer's mbarrier not started; whoever comes later has no right to rely on
  // it.
  expect_fault(2, 32, {"mbarrier"}, Exchange{.meets = false, .out = sums_of_blocks});
  // A thread that exits has not arrived: the barrier of the others does not order what it did.
  const auto kernel = [] {
    ASSAY_SHARED(std::uint64_t, word, 1);
    if (threadIdx.x == 0) start(word);
    if (threadIdx.x < 32) return;
    arrive(false);
    wait();
    wait_for(word, 0);
  };
  expect_fault(1, 64, {"mbarrier"}, kernel);
  const std::string in_index_order = cluster_fault(1, 64, 0, kernel);
  EXPECT_NE(
      in_index_order.find("no barrier lies between the start of an mbarrier and its use by another thread"),
      std::string::npos)
      << in_index_order;
}
TEST(ExecutorCluster, BarrierOfTheCluster) {
  expect_fault(2, 32,
               {"no thread can go on", "threads 0-31 wait in the barrier of the cluster at",
                "threads 3 wait in __syncthreads"},
               [] {
                 if (rank() == 1 && threadIdx.x == 3) __syncthreads();
                 arrive();
                 wait();
               });
  expect_fault(2, 32, {"without having arrived"}, [] { wait(); });
  expect_fault(2, 32, {"twice without waiting"}, [] {
    arrive();
    arrive();
  });
  // A thread that has exited is not waited for, whether it had arrived or not.
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed)
    EXPECT_EQ(cluster_fault(3, 64, seed,
                            [] {
                              if (threadIdx.x == 5 || (threadIdx.x > 40 && rank() == 1)) return;
                              arrive();
                              if (threadIdx.x == 6) return;
                              wait();
                              arrive();
                              wait();
                            }),
              "")
        << seed;
}
TEST(ExecutorCluster, PlacesThatDoNotExist) {
  expect_fault(2, 32, {"a block that its cluster does not have"}, [] {
    ASSAY_SHARED(int, a, 1);
    peer(a, 2);
  });
  static int global;
  expect_fault(2, 32, {"outside the shared memory of the cluster"}, [] { peer(&global, 1); });
}
TEST(ExecutorCluster, InvalidClusters) {
  for (const auto& [grid, blocks, threads] : {std::array{6u, 4u, 32u}, {17u, 17u, 32u}, {8u, 8u, 512u}}) {
    std::string text;
    try {
      executor::run(
          grid, threads, 0, [](const void*) {}, nullptr, blocks);
    } catch (const executor::Fault& fault) {
      text = fault.what();
      EXPECT_EQ(fault.kind, FaultKind::bad_launch);
    }
    EXPECT_NE(text.find("invalid cluster of " + std::to_string(blocks)), text.npos) << text;
  }
}

/// Blocks may name their arrays in different orders. An array is found by what it is.
TEST(ExecutorCluster, PeersAreFoundByArray) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Seeded seeded(seed);
    unsigned found[2] = {};
    launch_clusters(
        1, 2, 32,
        [&] {
          const auto first = []() -> unsigned* {
            ASSAY_SHARED(unsigned, a, 3);
            return a;
          };
          const auto second = []() -> unsigned* {
            ASSAY_SHARED(unsigned, b, 7);
            return b;
          };
          ASSAY_DYNAMIC_SHARED(unsigned, tile);
          unsigned *a, *b;
          if (rank() == 0)
            a = first(), b = second();
          else
            b = second(), a = first();
          if (threadIdx.x == 0) a[1] = 10 + rank(), b[5] = 20 + rank(), tile[2] = 30 + rank();
          arrive();
          wait();
          const unsigned other = 1 - rank();
          if (threadIdx.x == 0)
            found[rank()] = *peer(a + 1, other) == 10 + other && *peer(b + 5, other) == 20 + other &&
                            peer(tile, other)[2] == 30 + other;
          arrive();
          wait();
        },
        16);
    EXPECT_TRUE(found[0] && found[1]) << seed;
  }
}

/// A choice of blocks is a choice of clusters, because a cluster runs whole.
TEST(ExecutorCluster, ChosenBlocksAreClusters) {
  std::vector<unsigned> ran(12);
  executor::choose_blocks([](std::uint64_t clusters) { return std::vector<std::uint64_t>{clusters - 1}; });
  launch_clusters(3, 4, 32, [&] { atomicAdd(&ran[blockIdx.x], 1u); });
  executor::choose_blocks({});
  EXPECT_EQ(ran, (std::vector<unsigned>{0, 0, 0, 0, 0, 0, 0, 0, 32, 32, 32, 32}));
}

#if defined(__SANITIZE_THREAD__)
template <class Kernel>
[[noreturn]] void run_and_exit(const Kernel& kernel) {
  launch_clusters(3, 4, 32, kernel);
  std::exit(0);
}
// As in executor_fault_test.cpp.
#define EXPECT_CHILD(status, text, ...)           \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(run_and_exit(__VA_ARGS__), testing::ExitedWithCode(status), text)
#define EXPECT_RACE(...) EXPECT_CHILD(66, "data race", __VA_ARGS__)
#define EXPECT_NO_CLUSTER_RACE(...) EXPECT_CHILD(0, "", __VA_ARGS__)
#else
#define EXPECT_RACE(...) GTEST_SKIP() << "needs a ThreadSanitizer build"
#define EXPECT_NO_CLUSTER_RACE(...) launch_clusters(3, 4, 32, __VA_ARGS__)
#endif

TEST(ExecutorCluster, TransfersOrderWhatTheyBring) {
  EXPECT_NO_CLUSTER_RACE(Exchange{.repeats = true, .out = sums_of_blocks});
}
TEST(ExecutorCluster, RaceBeforeTheWait) {
  EXPECT_RACE(Exchange{.reads_first = true, .out = sums_of_blocks});
}

/// Neighbours read each other's tile. `first`, `second`: a barrier before and after. `release`: it orders
/// memory.
[[maybe_unused]] void read_neighbour(bool first, bool second, bool release) {
  ASSAY_SHARED(unsigned, tile, 32);
  unsigned v = threadIdx.x;
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = v;
    if (first) arrive(release), wait();
    v += *peer(tile + threadIdx.x, (rank() + 1) % size_of_cluster);
    if (second) arrive(release), wait();
  }
  if (v == ~0u) sums_of_blocks[0] = v;
  arrive();  // nobody ends while a neighbour still reads its tile
  wait();
}
TEST(ExecutorCluster, TheBarrierOrdersMemory) {
  EXPECT_NO_CLUSTER_RACE([] {
    ASSAY_SHARED(unsigned, tile, 32);
    tile[threadIdx.x] = threadIdx.x;
    arrive();
    wait();
    const unsigned v = *peer(tile + threadIdx.x, (rank() + 1) % size_of_cluster);
    if (v != threadIdx.x) throw 1;
    arrive();
    wait();
    tile[threadIdx.x] = 0;
  });
}
TEST(ExecutorCluster, RaceWithoutABarrierBefore) {
  EXPECT_RACE([] { read_neighbour(false, true, true); });
}
TEST(ExecutorCluster, RaceWithoutABarrierAfter) {
  EXPECT_RACE([] { read_neighbour(true, false, true); });
}
TEST(ExecutorCluster, RaceThroughARelaxedBarrier) {
  EXPECT_RACE([] { read_neighbour(true, true, false); });
}
TEST(ExecutorCluster, RaceBetweenClusters) {
  EXPECT_RACE([] {
    if (threadIdx.x == 0 && rank() == 0) sums_of_blocks[0] = blockIdx.x;
  });
}

}  // namespace
}  // namespace assay::host_test
