// SPDX-License-Identifier: Apache-2.0
// Every registered variant, in every dtype and on every backend of this build, has every property that
// applies to it. One test checks one property on one backend, over all its keys.
#include "properties/variants/variant_properties.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

struct VariantCase {
  Backend backend;
  const VariantProperty* property;
};
void PrintTo(const VariantCase& c, std::ostream* os) { *os << name(c.backend) << "_" << c.property->name; }

std::vector<const Variant*> keys_on(Backend backend) {
  std::vector<const Variant*> keys;
  for (const Variant& v : registry())
    if (v.backend == backend) keys.push_back(&v);
  return keys;
}
std::vector<VariantCase> every_property_on(Backend backend) {
  std::vector<VariantCase> cases;
  for (const VariantProperty& p : variant_properties()) cases.push_back({backend, &p});
  return cases;
}
const auto kPropertyOfVariant = [](const auto& test) { return std::string(test.param.property->name); };

class Variants : public testing::TestWithParam<VariantCase> {};
TEST_P(Variants, Have) {
  const auto [backend, property] = GetParam();
  if (const std::string why = unavailable_reason(backend); !why.empty()) GTEST_SKIP() << why;
  const Outcome outcome = outcome_of(*property, keys_on(backend), name(backend));
  std::printf("%s\n", outcome.coverage.c_str());
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
}
INSTANTIATE_TEST_SUITE_P(VariantsHost, Variants, testing::ValuesIn(every_property_on(Backend::host)),
                         kPropertyOfVariant);
INSTANTIATE_TEST_SUITE_P(VariantsHostFma, Variants, testing::ValuesIn(every_property_on(Backend::host_fma)),
                         kPropertyOfVariant);
INSTANTIATE_TEST_SUITE_P(VariantsCuda, Variants, testing::ValuesIn(every_property_on(Backend::cuda)),
                         kPropertyOfVariant);

/// No key is left out: each has the general properties and one that judges its values or its selection.
TEST(VariantProperties, ApplyToEveryKey) {
  for (const Variant& v : registry()) {
    if (!not_plain_rows(v, v.op).empty()) continue;
    int applying = 0;
    for (const VariantProperty& p : variant_properties()) applying += p.applies(v);
    EXPECT_GE(applying, 6) << v.key();
  }
}

/// Reports the kernels that work in place without claiming it. Only the author can make a claim.
TEST(VariantProperties, TellWhatWorksInPlaceUnclaimed) {
  const auto in_place =
      std::find_if(variant_properties().begin(), variant_properties().end(),
                   [](const auto& p) { return std::string(p.name) == "in_place_equals_out_of_place"; });
  ASSERT_NE(in_place, variant_properties().end());
  VariantProperty asked = *in_place;
  asked.applies = any_variant;
  asked.must_appear = {};
  std::set<std::string> claimed, unclaimed;
  for (const Variant& v : registry()) {
    if (v.backend != Backend::host || !(v.op == Op::softmax || v.op == Op::log_softmax)) continue;
    if (v.claim.in_place)
      claimed.insert(v.variant);
    else if (outcome_of(asked, {&v}, v.key(), false).failure.empty())
      unclaimed.insert(v.variant);
  }
  std::string text = "in place, claimed:";
  for (const std::string& name : claimed) text += " " + name;
  text += "; found, but not claimed:";
  for (const std::string& name : unclaimed) text += " " + name;
  std::printf("%s\n", text.c_str());
  EXPECT_FALSE(claimed.empty());
}

// Rows of which one part has no maximum: only -inf, or -inf and a NaN, beside finite logits. A kernel that
// splits a row among threads, warps or blocks must merge such a part as nothing, or as NaN.

constexpr double kInfinityOfSlices = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// Row 2p: part p of eight is -inf; row 2p + 1: with a NaN in it. Then all but one logit -inf; all -inf with
/// a NaN. The same again `times` times.
Tensor rows_with_empty_parts(Dtype dtype, std::int64_t V, std::int64_t times) {
  constexpr std::int64_t kParts = 8, kKinds = 2 * kParts + 2;
  Tensor t(dtype, kKinds * times, V);
  for (std::int64_t at = 0; at < t.rows; ++at) {
    const std::int64_t r = at % kKinds;
    const std::int64_t part = r / 2, begin = part * V / kParts, end = (part + 1) * V / kParts;
    for (std::int64_t j = 0; j < V; ++j) {
      const bool empty = part == kParts || (j >= begin && j < end);
      t.set(at, j, empty ? -kInfinityOfSlices : static_cast<double>(j % 17) / 4 - 2);
    }
    if (part == kParts)
      t.set(at, V / 2, r % 2 == 0 ? 1.0 : kNan);
    else if (r % 2 == 1)
      t.set(at, (begin + end) / 2, kNan);
  }
  return t;
}

class EmptySlices : public testing::TestWithParam<Backend> {};
TEST_P(EmptySlices, AreMergedAsNothingOrAsNan) {
  if (const std::string why = unavailable_reason(GetParam()); !why.empty()) GTEST_SKIP() << why;
  // Each rung of onepass: lanes, warp, block, cluster, boxed, and what does not fit there. On a GPU these few
  // rows take clusters and the grid from 9001 on. `only`: other variants have no path of their own there.
  struct Length {
    std::int64_t V, times = 1;
    std::string_view only = "";
    int judged = 20;
  };
  std::vector<Length> lengths = {{100},  {1025}, {9001}, {20001, 1, "onepass", 3}, {40001, 1, "onepass", 3},
                                 {70001}};
  if (GetParam() == Backend::cuda) lengths.push_back({70001, 60, "", 3});
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const auto& [V, times, only, least] : lengths) {
      const Case c("empty_parts", rows_with_empty_parts(dtype, V, times));
      int judged = 0;
      for (const Variant& v : registry()) {
        if (v.backend != GetParam() || v.dtype != dtype || !not_plain_rows(v, v.op).empty()) continue;
        if ((times > 1 && v.op != Op::lse) || !v.variant.starts_with(only)) continue;
        const Record r = check_case(v, c, v.op, selects(v.op) ? 5 : 0);
        if (r.status == Status::unsupported) continue;
        EXPECT_EQ(r.status, Status::pass) << v.key() << " V = " << V << ": " << r.reason;
        ++judged;
      }
      EXPECT_GE(judged, least) << name(dtype) << " V = " << V;
    }
}
INSTANTIATE_TEST_SUITE_P(Variants, EmptySlices, testing::Values(Backend::host, Backend::cuda),
                         [](const auto& test) { return std::string(name(test.param)); });

// Tests the properties of variants: each planted fault must lose the property named beside it, and a right
// kernel none. Faults of real kernels are in kernels/mutants. The plain functions here have faults that only
// a single property finds.

constexpr float kInfinityF32 = std::numeric_limits<float>::infinity();

enum class Fault {
  none,
  empty_prefix_counts,   // d of a row of only -inf is 1
  d_of_half,             // the normalizer misses every other term
  shift_sees_magnitude,  // the maximum is rounded to 20 bits before it is subtracted
  first_weighs_more,     // position 0 counts (1 + 2^-12) times
  remembers_row_before,  // NaN of the row before stays in the sum
  fast_after_first,      // rows after the first use a less accurate exp
  last_ulp_of_row_64,    // a block's 65th row is off by one bit
  reads_after_writing,   // stores exps into the outputs, then reads the logits again
  order_of_schedule,     // adds in another order under every other schedule
  nan_becomes_zero,
};

/// Serial softmax, one row after another.
template <Fault F>
void softmax(const Problem& p, const Buffers& b, const Stream&) {
  static int launches = 0;
  ++launches;
  bool poisoned = false;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const float* x = static_cast<const float*>(b.logits) + row * p.in_pitch;
    float* out = b.probs ? static_cast<float*>(b.probs) + row * p.out_pitch : nullptr;
    float m = -kInfinityF32;
    for (std::int64_t i = 0; i < p.V; ++i) m = std::fmax(m, x[i]);
    if (F == Fault::shift_sees_magnitude && std::isfinite(m))
      m = std::bit_cast<float>(std::bit_cast<std::uint32_t>(m) & ~0xfu);
    const auto term = [&](std::int64_t i) {
      float e = std::exp(x[i] - m);
      if (F == Fault::first_weighs_more && i == 0) e *= 1 + 0x1p-12f;
      if (F == Fault::fast_after_first && row > 0) e = std::exp(x[i] - m) * (1 + 0x1p-23f);
      return e;
    };
    float d = 0;
    const bool backwards = F == Fault::order_of_schedule && launches % 2 == 0;
    for (std::int64_t i = 0; i < p.V; ++i) {
      if (F == Fault::d_of_half && i % 2 == 1) continue;
      d += term(backwards ? p.V - 1 - i : i);
    }
    if (m == -kInfinityF32 && F == Fault::empty_prefix_counts) d = 1;
    if (m == -kInfinityF32 && F != Fault::empty_prefix_counts) d = 0;
    if (F == Fault::remembers_row_before && poisoned) d = std::numeric_limits<float>::quiet_NaN();
    poisoned = std::isnan(d);
    if (out) {
      const float divisor = m == -kInfinityF32 ? std::numeric_limits<float>::quiet_NaN() : d;
      if (F == Fault::reads_after_writing)
        for (std::int64_t i = 0; i < p.V; ++i) out[i] = 0;
      for (std::int64_t i = 0; i < p.V; ++i) {
        out[i] = term(i) / divisor;
        if (F == Fault::nan_becomes_zero && std::isnan(out[i])) out[i] = 0;
        if (F == Fault::last_ulp_of_row_64 && row >= 64 && out[i] > 0x1p-100f)
          out[i] = std::nextafter(out[i], 0.0f);
      }
    }
    if (b.m) {
      b.m[row] = m;
      b.d[row] = d;
    }
  }
}

/// Softmax and top-k by computed probability.
template <bool kReversed>
void topk_by_probs(const Problem& p, const Buffers& b, const Stream& s) {
  std::vector<float> probs(static_cast<std::size_t>(p.rows * p.V));
  Problem all = p;
  all.op = Op::softmax;
  all.out_pitch = p.V;
  Buffers inner = b;
  inner.probs = probs.data();
  softmax<Fault::none>(all, inner, s);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const float* q = probs.data() + row * p.V;
    std::vector<int> order(static_cast<std::size_t>(p.V));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [q](int i, int j) { return q[i] > q[j]; });
    if (kReversed) std::reverse(order.begin(), order.begin() + std::min<std::ptrdiff_t>(p.k, p.V));
    for (std::int64_t r = 0; r < p.k; ++r) {
      const int i = r < p.V ? order[static_cast<std::size_t>(r)] : -1;
      static_cast<int*>(b.indices)[row * p.out_pitch + r] = i;
      static_cast<float*>(b.probs)[row * p.out_pitch + r] = i < 0 ? 0 : q[i];
    }
  }
}

Variant plain(const char* name, void (*run)(const Problem&, const Buffers&, const Stream&),
              Op op = Op::softmax) {
  Variant v;
  v.variant = name;
  v.op = op;
  v.run = run;
  v.claim = {.algorithm = Algorithm::safe, .height = [](std::int64_t V) { return V; }};
  v.claim.in_place = op == Op::softmax;
  if (op == Op::softmax_topk) {
    v.claim.select = Select::probs;
    v.claim.ties = Ties::smaller_index;
    v.max_k = 64;
  }
  return v;
}
/// Adds the claim of an online kernel: (-inf, 0) for no terms, 1 <= d <= j.
Variant online(Variant v) {
  v.claim.algorithm = Algorithm::online;
  return v;
}

struct Planted {
  Variant variant;
  const char* loses;
};
void PrintTo(const Planted& p, std::ostream* os) { *os << p.variant.variant << " loses " << p.loses; }

const Mutant& kernel(const std::string& fault) {
  if (const Mutant* m = find_mutant_of(fault)) return *m;
  throw std::invalid_argument("no mutant " + fault);
}

std::vector<Planted> all_planted() {
  std::vector<Planted> all = {
      {online(plain("empty_prefix_counts", softmax<Fault::empty_prefix_counts>)),
       "normalizer_of_every_prefix"},
      {online(plain("d_of_half", softmax<Fault::d_of_half>)), "normalizer_of_every_prefix"},
      {plain("d_of_half", softmax<Fault::d_of_half>), "split_normalizers_merge_to_the_whole"},
      {plain("shift_sees_magnitude", softmax<Fault::shift_sees_magnitude>), "shift_is_bit_equal_where_exact"},
      {plain("first_weighs_more", softmax<Fault::first_weighs_more>), "permutation_stays_within_both_bounds"},
      {plain("remembers_row_before", softmax<Fault::remembers_row_before>), "neighbours_do_not_leak"},
      {plain("fast_after_first", softmax<Fault::fast_after_first>), "duplicated_rows_are_bit_equal"},
      {plain("last_ulp_of_row_64", softmax<Fault::last_ulp_of_row_64>),
       "any_place_in_any_batch_is_bit_equal"},
      {plain("reads_after_writing", softmax<Fault::reads_after_writing>), "in_place_equals_out_of_place"},
      {plain("order_of_schedule", softmax<Fault::order_of_schedule>), "any_schedule_is_bit_equal"},
      {plain("nan_becomes_zero", softmax<Fault::nan_becomes_zero>), "special_rows_follow_the_policy"},
      {plain("topk_reversed", topk_by_probs<true>, Op::softmax_topk),
       "topk_by_probability_swaps_only_close_logits"},
  };
  const std::pair<const char*, const char*> in_kernels[] = {
      {"max_from_zero", "overflow_inputs_stay_within_the_bound"},
      {"no_rescale", "mixed_magnitudes_stay_within_the_bound"},
      {"butterfly_short", "ordinary_rows_stay_within_the_bound"},
      {"lane_zero_maximum", "overflow_inputs_stay_within_the_bound"},
      {"divisor_off", "larger_logit_no_smaller_output"},
      {"narrow_sum", "outputs_sum_to_one"},
      {"sum_skips_last", "outputs_sum_to_one"},
      {"sentinel_hides_nan", "special_rows_follow_the_policy"},
      {"absorb_claims_shifted", "shift_is_bit_equal_where_exact"},
      {"separate_products", "shift_is_bit_equal_where_exact"},
      {"first_warp_only", "permutation_stays_within_both_bounds"},
      {"no_identity_guard", "inserted_minus_infinity_changes_nothing"},
      {"rows_swapped", "duplicated_rows_are_bit_equal"},
      {"sum_reads_past_end", "neighbours_do_not_leak"},
      {"pitch_ignored", "any_place_in_any_batch_is_bit_equal"},
      {"no_barrier_before_read", "any_schedule_is_bit_equal"},
      {"topk_larger_index", "topk_is_the_prefix_of_the_full_sort"},
      {"topk_pad_index", "topk_is_the_prefix_of_the_full_sort"},
      {"topk_k_is_v", "a_shorter_topk_is_a_prefix_of_a_longer"},
      {"topk_running_maximum", "topk_values_are_those_of_the_row"},
      {"min_p_dropped_are_tiny", "sets_of_far_rows_are_right"},
      {"top_p_one_too_many", "sets_of_mixed_magnitudes_are_right"},
      {"top_p_order_of_columns", "sets_of_ordinary_rows_are_right"},
  };
  for (const auto& [fault, property] : in_kernels) all.push_back({kernel(fault).variant, property});
  return all;
}

/// The failure of the property on one key. The required classes of input are not checked.
std::string failure_of(const VariantProperty& p, const Variant& v, int times = 1) {
  VariantProperty asked = p;
  asked.cases *= times;
  asked.must_appear = {};
  return outcome_of(asked, {&v}, v.variant, false).failure;
}

class VariantMutants : public testing::TestWithParam<Planted> {};
INSTANTIATE_TEST_SUITE_P(, VariantMutants, testing::ValuesIn(all_planted()), [](const auto& test) {
  std::string name = test.param.variant.variant;
  if (name.starts_with("mutant.")) name.erase(0, 7);
  return name + "_loses_" + test.param.loses;
});
TEST_P(VariantMutants, IsCaught) {
  for (const VariantProperty& p : variant_properties())
    if (std::string(p.name) == GetParam().loses) {
      ASSERT_TRUE(p.applies(GetParam().variant));
      EXPECT_NE(failure_of(p, GetParam().variant, 10), "") << GetParam().variant.variant << " has " << p.name;
      return;
    }
  FAIL() << "no property " << GetParam().loses;
}

TEST(VariantMutant, EveryPropertyIsLostByOne) {
  std::set<std::string> lost;
  for (const Planted& p : all_planted()) lost.insert(p.loses);
  for (const VariantProperty& p : variant_properties())
    EXPECT_TRUE(lost.count(p.name)) << "no mutant loses " << p.name;
}

TEST(VariantMutant, WithoutAFaultNothingIsLost) {
  std::vector<Variant> right = {plain("plain", softmax<Fault::none>),
                                plain("plain_topk", topk_by_probs<false>, Op::softmax_topk)};
  for (const Mutant& m : mutants())
    if (m.kind == Kind::right && m.variant.backend == Backend::host) right.push_back(m.variant);
  EXPECT_GE(right.size(), 5u);
  for (const Variant& v : right)
    for (const VariantProperty& p : variant_properties()) {
      // Op normalizer has no probabilities, but the kernels of kernels/mutants always write them.
      const bool only_normalizer = std::string(p.name).find("normalizer") != std::string::npos;
      if (!p.applies(v) || (only_normalizer && !v.file.empty())) continue;
      EXPECT_EQ(failure_of(p, v), "") << v.variant;
    }
}

}  // namespace
}  // namespace assay
