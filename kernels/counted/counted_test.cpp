// SPDX-License-Identifier: Apache-2.0
// Tests the counters on kernels with known accesses. Tests that every variant does what it claims, or what
// its source counts if that is known to be more.
#include "kernels/counted/counted.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "kernels/counted/access_counter.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

AccessCounts counts_of(const Variant& v, std::int64_t V, std::int64_t rows) {
  const Tensor logits = make_input(*find_family("normal_1"), v.dtype, V, rows, 1);
  Problem p;
  p.op = v.op;
  p.in = p.out = v.dtype;
  p.rows = rows;
  p.V = p.in_pitch = p.out_pitch = V;
  p.take(pick_of_few(v.op));
  return count_accesses(v, p, logits.bytes);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

TEST(CountedVariants, AreTheRegistrysHostKeys) {
  std::size_t on_host_keys = 0;
  for (const Variant& v : registry())
    if (v.backend == Backend::host) {
      ++on_host_keys;
      EXPECT_NE(find_counted(v.key()), nullptr) << v.key();
    }
  EXPECT_EQ(counted_variants().size(), on_host_keys);
}

/// Variants that claim what their published source counts: the loads that they really make. A tutorial's "3N"
/// kernel makes 3 loads and a store, its "2N" kernel 2 loads and a store.
const std::map<std::string, int> kLoadsPastTheirSource = {{"fused_safe_thread", 3},
                                                          {"online_recurrence_thread", 2}};

/// A softmax loads and stores exactly what it claims. Top-k kernels also access k elements per row.
TEST(CountedVariants, DoWhatTheyClaim) {
  ASSERT_FALSE(counted_variants().empty());
  for (const Variant& v : counted_variants()) {
    if (v.claim.causal != Causal::no) continue;  // the next test
    const auto past = kLoadsPastTheirSource.find(v.variant);
    // The longest rows are the longest that onepass keeps in the registers of a cluster, in f32, and with its
    // shared memory.
    for (const std::int64_t V : {2048, 16384, 32768, 65536}) {
      const AccessCounts c = counts_of(v, V, 2);
      // (m, d) and lists of k. radix_topk sorts the k best by up to four digits, each time 16 bytes an
      // element.
      // min_p and top_p write and read the logits and columns of up to 256 candidates.
      const double slack = (keeps_a_set(v.op) ? 1600.0
                            : v.max_k > 64    ? 256.0
                                              : 64.0) /
                           static_cast<double>(V);
      const int claimed = v.claim.loads(V), stores = v.claim.stores(V);
      const int loads = past == kLoadsPastTheirSource.end() ? claimed : past->second;
      EXPECT_NEAR(c.loads, loads, slack) << v.key() << " at V = " << V << " claims " << claimed << " loads";
      EXPECT_GE(loads, claimed) << v.key();
      EXPECT_NEAR(c.stores, stores, slack) << v.key() << " at V = " << V << " claims " << stores << " stores";
    }
  }
}

/// Row r of a causal square has r + 1 columns to read and V to write.
TEST(CountedVariants, CausalOnesReadUpToTheDiagonal) {
  for (const Variant& v : counted_variants()) {
    if (v.claim.causal == Causal::no) continue;
    constexpr std::int64_t V = 256;
    const AccessCounts c = counts_of(v, V, V);
    EXPECT_NEAR(c.loads, v.claim.loads(V) * (V + 1) / (2.0 * V), 2.0 / V) << v.key();
    EXPECT_NEAR(c.stores, v.claim.stores(V), 4.0 / V) << v.key();
  }
}

TEST(CountedVariants, OnepassMovesEveryByteOnceWhateverTheAlignment) {
  for (const char* key : {"onepass_fast/f16@host", "onepass/f32@host"}) {
    const Variant* v = find_counted(key);
    ASSERT_NE(v, nullptr);
    const auto size = static_cast<std::int64_t>(size_of(v->dtype));
    for (const std::int64_t V : {1, 5, 63, 100, 252, 511})
      for (const std::int64_t rows : {1, 50}) {
        const AccessCounts c = counts_of(*v, V, rows);
        EXPECT_EQ(c.logits.loaded, rows * V * size) << key << ", V = " << V;
        EXPECT_EQ(c.probs.stored, rows * V * size) << key << ", V = " << V;
      }
  }
}

TEST(CountedVariants, OnlineReadsEveryLogitTwiceWhateverTheAlignment) {
  const Variant* v = find_counted("online_block/f32@host");
  ASSERT_NE(v, nullptr);
  for (const std::int64_t V : {1, 2, 3, 31, 129, 1025}) {
    const AccessCounts c = counts_of(*v, V, 3);
    // Rows that are not 16-byte aligned are realigned in registers, and neighbouring accesses overlap.
    EXPECT_GE(c.logits.loaded, 2 * 3 * V * 4) << V;
    EXPECT_LE(c.logits.loaded, 3 * 3 * V * 4) << V;
    EXPECT_EQ(c.probs.stored, 3 * V * 4) << V;
    EXPECT_EQ(c.normalizer.stored, 3 * 2 * 4) << V;
    EXPECT_EQ(c.probs.loaded + c.workspace.loaded + c.workspace.stored, 0) << V;
  }
}

#endif

}  // namespace
}  // namespace assay
