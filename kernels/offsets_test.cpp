// SPDX-License-Identifier: Apache-2.0
// 64-bit offsets: two rows more than 2^31 elements apart, in memory that is reserved and, except for the
// rows, never touched. A kernel that multiplies row by pitch in 32 bits accesses other memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay
