// SPDX-License-Identifier: Apache-2.0
// Adding a variant means adding a file: the registered variants must be exactly the files of
// kernels/variants/.
#include "kernels/registry.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(Registry, HoldsOneVariantPerFileOnEveryBackend) {
  const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "kernels/variants";
  if (!fs::exists(folder)) GTEST_SKIP() << "no source tree beside this binary";
  std::set<std::string> files;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) files.insert(e.path().stem().string());
  ASSERT_GE(files.size(), 11u);
  std::map<Backend, std::set<std::string>> registered;
  for (const Variant& v : registry()) {
    registered[v.backend].insert(v.variant);
    EXPECT_EQ(fs::path(v.file).stem().string(), v.variant) << "the file is named after its variant";
    EXPECT_TRUE(v.file.starts_with("kernels/variants/")) << v.file;
  }
  EXPECT_EQ(registered[Backend::host], files);
  EXPECT_EQ(registered[Backend::host_fma], files);
  EXPECT_EQ(registered.contains(Backend::cuda), built_with_cuda());
  if (built_with_cuda()) {
    EXPECT_EQ(registered[Backend::cuda], files);
  }
}

/// Every variant has f16 and f32, unless its arithmetic or its source's vector type excludes one.
TEST(Registry, EveryVariantHasItsDtypes) {
  const std::map<std::string, std::set<Dtype>> narrower = {
      {"safe_block_half", {Dtype::f16, Dtype::bf16}}, {"three_kernel_safe_thread", {Dtype::f16}},
      {"register_float4_warp", {Dtype::f32}},         {"vector_tree_block", {Dtype::f32}},
      {"vector_shuffle_block", {Dtype::f32}},
  };
  std::map<std::string, std::map<Backend, std::set<Dtype>>> dtypes;
  for (const Variant& v : registry()) dtypes[v.variant][v.backend].insert(v.dtype);
  int all_three = 0;
  for (const auto& [variant, on] : dtypes) {
    const auto known = narrower.find(variant);
    for (const auto& [backend, have] : on) {
      EXPECT_EQ(have, on.at(Backend::host)) << variant << "@" << name(backend);
      if (known != narrower.end())
        EXPECT_EQ(have, known->second) << variant;
      else
        EXPECT_TRUE(have.contains(Dtype::f16) && have.contains(Dtype::f32)) << variant;
    }
    all_three += on.at(Backend::host).size() == 3;
  }
  EXPECT_GE(all_three, 17);
}

TEST(Registry, ClaimsAreComplete) {
  for (const Variant& v : registry()) {
    EXPECT_TRUE(v.run) << v.key();
    EXPECT_GE(v.claim.loads(1), 1) << v.key();
    if (v.op == Op::topk) {
      EXPECT_EQ(v.claim.select, Select::logits) << v.key();
    } else {
      ASSERT_TRUE(v.claim.height) << v.key();
      EXPECT_GE(v.claim.height(1), 0) << v.key();
      EXPECT_GE(v.claim.height(100000), v.claim.height(1000)) << v.key();
    }
    EXPECT_EQ(selects(v.op), v.max_k >= 64) << v.key();
    EXPECT_EQ(find_variant(v.key()), &v);
  }
  EXPECT_EQ(find_variant("no_such/f32@host"), nullptr);
}

TEST(Registry, KeysAreUnique) {
  std::set<std::string> keys;
  for (const Variant& v : registry()) EXPECT_TRUE(keys.insert(v.key()).second) << v.key();
}

// 64-bit offsets: two rows more than 2^31 elements apart, in memory that is reserved and, except for the
// rows, never touched. A kernel that multiplies row by pitch in 32 bits accesses other memory.

/// Reserved, zero-filled address space. A page does not exist before it is touched.
class Reserved {
 public:
  explicit Reserved(std::size_t bytes) : bytes_(bytes) {
    void* p =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
  }
  ~Reserved() {
    if (data_) munmap(data_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::size_t bytes_;
  std::byte* data_;
};

TEST(Offsets, RowsPast32BitsAreReadAndWritten) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's shadow of 8 GiB is too much";
#endif
  constexpr std::int64_t V = 100, pitch = (std::int64_t{1} << 31) + 8;
  constexpr auto elements = static_cast<std::size_t>(pitch + V);
  const Reserved logits(4 * elements), probs(4 * elements), indices(4 * elements);
  std::vector<std::byte> workspace(1 << 16);
  if (!logits.data() || !probs.data() || !indices.data()) GTEST_SKIP() << "no address space";
  std::set<std::string> variants, ran;
  for (const Variant& v : registry()) {
    variants.insert(v.variant);
    // One dtype per variant: offsets do not depend on the dtype.
    if (v.backend != Backend::host || !ran.insert(v.variant).second) continue;
    const std::size_t element = size_of(v.dtype);
    const std::uint64_t unwritten = encode(v.dtype, -64);
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t i = 0; i < V; ++i)
        store_bits(v.dtype, logits.data(), r * pitch + i,
                   encode(v.dtype, 0.25 * static_cast<double>((7 * i + 31 * r) % 23)));
    Problem p;
    p.op = v.op;
    p.in = p.out = v.dtype;
    p.V = V;
    p.in_pitch = p.out_pitch = pitch;
    p.take(usual_pick(v.op));
    const std::int64_t columns = p.out_columns();
    const auto clear = [&] {
      for (std::int64_t r = 0; r < 2; ++r)
        for (std::int64_t i = 0; i < columns; ++i)
          store_bits(v.dtype, probs.data(), r * pitch + i, unwritten);
    };
    float m[2], d[2];
    Buffers b;
    b.logits = b.gradients = logits.data();
    b.probs = probs.data();
    b.indices = selects(v.op) ? indices.data() : nullptr;
    b.m = v.op == Op::topk ? nullptr : m;
    b.d = v.op == Op::topk ? nullptr : d;
    b.workspace = workspace.data();
    p.rows = 2;
    ASSERT_LE(v.workspace_bytes ? v.workspace_bytes(p) : 0, workspace.size()) << v.key();
    // The far row alone, then both rows: the results must be equal.
    clear();
    p.rows = 1;
    Buffers far = b;
    far.logits = far.gradients = logits.data() + static_cast<std::size_t>(pitch) * element;
    far.probs = probs.data() + static_cast<std::size_t>(pitch) * element;
    v.run(p, far, {});
    std::uint64_t alone[V];
    for (std::int64_t i = 0; i < columns; ++i) alone[i] = load_bits(v.dtype, probs.data(), pitch + i);
    clear();
    p.rows = 2;
    if (v.claim.causal != Causal::no) {
      // The second row of a square depends on its position, so both rows are launched next to each other for
      // comparison.
      std::vector<std::byte> near(2 * V * element), there(2 * V * element);
      std::memcpy(near.data(), logits.data(), V * element);
      std::memcpy(near.data() + V * element, far.logits, V * element);
      Problem dense = p;
      dense.in_pitch = dense.out_pitch = V;
      Buffers beside = b;
      beside.logits = near.data();
      beside.probs = there.data();
      v.run(dense, beside, {});
      for (std::int64_t i = 0; i < columns; ++i) alone[i] = load_bits(v.dtype, there.data(), V + i);
    }
    v.run(p, b, {});
    for (std::int64_t i = 0; i < columns; ++i) {
      ASSERT_NE(alone[i], unwritten) << v.key();
      ASSERT_EQ(load_bits(v.dtype, probs.data(), pitch + i), alone[i]) << v.key() << " column " << i;
    }
  }
  EXPECT_EQ(ran, variants);
}

// Which GPUs a build has code for.

TEST(DeviceCode, MachineCodeRunsOnItsOwnGenerationAndPtxOnNewerOnes) {
  EXPECT_EQ(no_code_reason("90", 9, 0), "");
  EXPECT_EQ(no_code_reason("90", 10, 0), "");
  EXPECT_EQ(no_code_reason("90-real", 9, 0), "");
  EXPECT_EQ(no_code_reason("80-real", 8, 9), "");
  EXPECT_EQ(no_code_reason("90-real,100", 12, 0), "");
  EXPECT_EQ(no_code_reason("90a", 9, 0), "");
  EXPECT_EQ(no_code_reason("all-major", 8, 0), "");
  EXPECT_EQ(no_code_reason("100f", 10, 3), "");
  EXPECT_NE(no_code_reason("100f", 12, 0), "");
  EXPECT_EQ(no_code_reason("90-real", 10, 0),
            "no GPU of an architecture that this build has code for: it was built for sm 90-real, the GPU is "
            "sm 100");
  EXPECT_NE(no_code_reason("90", 8, 0), "");
  EXPECT_NE(no_code_reason("89-real", 8, 6), "");
  EXPECT_NE(no_code_reason("90a", 10, 0), "");
  EXPECT_NE(no_code_reason("90-virtual", 8, 9), "");
}

// The second process waits, says so once, and goes on when the first has ended, in whatever way.

class DeviceLocks : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("assay-lock-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(DeviceLocks, TheSecondWaitsForTheFirstOfTheSameDevice) {
  const auto nobody_waits = [] { ADD_FAILURE() << "nobody else has it"; };
  auto first = std::make_unique<DeviceLock>("GPU-1", nobody_waits, folder);
  ASSERT_TRUE(first->held());
  EXPECT_TRUE(DeviceLock("GPU-2", nobody_waits, folder).held());
  std::atomic<int> said{0};
  std::atomic<bool> has{false};
  std::thread second([&] {
    const DeviceLock lock(
        "GPU-1", [&] { ++said; }, folder);
    has = lock.held();
  });
  for (int i = 0; i < 1000 && said == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(said, 1);
  EXPECT_FALSE(has);
  first.reset();
  second.join();
  EXPECT_TRUE(has);
  EXPECT_EQ(said, 1);
}

TEST_F(DeviceLocks, WhoComesFirstIsServedFirst) {
  auto first = std::make_unique<DeviceLock>(
      "GPU-1", [] {}, folder);
  std::vector<int> served, all;
  std::mutex mutex;
  std::vector<std::thread> others;
  std::array<std::atomic<bool>, DeviceLock::kPlaces> waits{};
  for (int n = 0; n + 1 < DeviceLock::kPlaces; ++n) {
    std::atomic<bool>& waiting = waits[static_cast<std::size_t>(n)];
    others.emplace_back([&, n] {
      const DeviceLock lock(
          "GPU-1", [&] { waiting = true; }, folder);
      const std::lock_guard<std::mutex> guard(mutex);
      served.push_back(n);
    });
    all.push_back(n);
    for (int i = 0; i < 1000 && !waiting; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(waiting);
  }
  first.reset();
  for (std::thread& t : others) t.join();
  EXPECT_EQ(served, all);
}

TEST_F(DeviceLocks, GoesWithItsProcessEvenOneThatIsKilled) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const DeviceLock lock(
        "GPU-1", [] {}, folder);
    (void)!write(told[1], "x", 1);
    for (;;) pause();
  }
  char x;
  ASSERT_EQ(::read(told[0], &x, 1), 1);
  bool waited = false;
  const DeviceLock lock(
      "GPU-1",
      [&] {
        waited = true;
        kill(holder, SIGKILL);
      },
      folder);
  EXPECT_TRUE(waited);
  EXPECT_TRUE(lock.held());
  waitpid(holder, nullptr, 0);
  close(told[0]);
  close(told[1]);
}

TEST_F(DeviceLocks, WithoutAFolderThereIsNone) {
  EXPECT_FALSE(DeviceLock(
                   "GPU-1", [] {}, folder / "missing")
                   .held());
}

}  // namespace
}  // namespace assay
