// SPDX-License-Identifier: Apache-2.0
// The group `operands` on kernels that select: a sampler's temperature. Right kernels pass, whether they rank
// the stored logits or their own; wrong ones fail here, and in no other group.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/verdict/strangers_test.hpp"

namespace assay::conformance {
namespace {

/// What a serial kernel makes of a row: its own logits z, and by which numbers it ranks.
struct SelectorRow {
  std::vector<float> x, z;
  int k;            // of the ops that select
  float threshold;  // of min_p and top_p
  bool at_one;      // the temperature is 1
};
/// Called with the row, and where its results go: V or k values, k indices.
using Selector = std::function<void(const SelectorRow&, float* values, std::int32_t* indices)>;
/// The kernel's z of an element.
using Scaled = std::function<float(float x, float temperature, float of_first_row)>;

/// Most rows have no more logits: longer ones take most of the time, and differ in nothing that is asked
/// here.
constexpr std::int64_t kLongest = 2100;

float divided(float x, float temperature, float) { return x / temperature; }
float multiplied(float x, float temperature, float) {
  const volatile float by = 1 / temperature;
  return x * by;
}

Variant selector(Op op, Selector select, Scaled scaled = divided) {
  Variant v = strangers::here(operand::temperatures, [=](const Problem& p, const Buffers& b, const Stream&) {
    for (std::int64_t r = 0; r < p.rows; ++r) {
      SelectorRow row{{}, {}, p.k, p.threshold, b.temperatures[r] == 1};
      for (std::int64_t j = 0; j < p.V; ++j) {
        row.x.push_back(static_cast<const float*>(b.logits)[r * p.in_pitch + j]);
        row.z.push_back(scaled(row.x.back(), b.temperatures[r], b.temperatures[0]));
      }
      select(row, static_cast<float*>(b.probs) + r * p.out_pitch,
             static_cast<std::int32_t*>(b.indices) + r * p.out_pitch);
    }
  });
  v.op = op;
  v.max_k = selects(op) ? 64 : 0;
  v.limits.max_V = kLongest;
  v.claim.select = selects(op) ? Select::logits : Select::none;
  return v;
}

std::vector<std::int32_t> falling(const std::vector<float>& by, bool larger_first = false) {
  std::vector<std::int32_t> all(by.size());
  std::iota(all.begin(), all.end(), 0);
  if (larger_first) std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(), [&](std::int32_t i, std::int32_t j) {
    return by[static_cast<std::size_t>(i)] > by[static_cast<std::size_t>(j)];
  });
  return all;
}

/// Which numbers decide what.
struct Numbers {
  bool larger_first = false;  // of equal logits, where the temperature is not 1
  int cold_from = 1 << 30;    // the k from which on the temperature is ignored
  bool rank_own = false;      // ranks z and not x
  bool sum_stored = false;    // the sum is of exp(x - max x)
  int swapped = -1;           // the slot that changes places with the next one
};

/// softmax_topk, log_softmax_topk, topk_softmax or topk.
Selector slots(Op op, Numbers how = {}) {
  return [=](const SelectorRow& row, float* values, std::int32_t* indices) {
    std::vector<std::int32_t> order = falling(how.rank_own ? row.z : row.x, how.larger_first && !row.at_one);
    if (how.swapped >= 0 && how.swapped + 1 < std::min<int>(row.k, static_cast<int>(order.size())))
      std::swap(order[static_cast<std::size_t>(how.swapped)],
                order[static_cast<std::size_t>(how.swapped) + 1]);
    const std::vector<float>& z = row.k >= how.cold_from ? row.x : row.z;
    const float m = *std::max_element(z.begin(), z.end());
    const float stored_m = *std::max_element(row.x.begin(), row.x.end());
    const auto n = op == Op::topk_softmax
                       ? std::min<std::size_t>(order.size(), static_cast<std::size_t>(row.k))
                       : order.size();
    float d = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(order[i]);
      d += how.sum_stored ? std::exp(row.x[at] - stored_m) : std::exp(z[at] - m);
    }
    for (int s = 0; s < row.k; ++s) {
      const bool empty = static_cast<std::size_t>(s) >= z.size();
      indices[s] = empty ? -1 : order[static_cast<std::size_t>(s)];
      const float own = empty ? 0 : z[static_cast<std::size_t>(indices[s])];
      values[s] = empty                        ? static_cast<float>(empty_slot(op))
                  : op == Op::topk             ? own
                  : op == Op::log_softmax_topk ? (own - m) - std::log(d)
                                               : std::exp(own - m) / d;
    }
  };
}

/// min_p or top_p. `stored`: the set is decided without the temperature.
Selector set(Op op, bool stored = false, bool larger_first = false) {
  return [=](const SelectorRow& row, float* values, std::int32_t*) {
    const std::vector<float>& by = stored ? row.x : row.z;
    const float m = *std::max_element(row.z.begin(), row.z.end());
    const float own_m = *std::max_element(by.begin(), by.end());
    float all = 0;
    for (const float z : by) all += std::exp(z - own_m);
    float before = 0, d = 0;
    std::vector<std::int32_t> kept;
    for (const std::int32_t i : falling(by, larger_first && !row.at_one)) {
      const float e = std::exp(by[static_cast<std::size_t>(i)] - own_m);
      if (op == Op::min_p ? e < row.threshold : before >= row.threshold * all) break;
      before += e;
      d += std::exp(row.z[static_cast<std::size_t>(i)] - m);
      kept.push_back(i);
    }
    std::fill(values, values + row.z.size(), 0.0f);
    for (const std::int32_t i : kept) values[i] = std::exp(row.z[static_cast<std::size_t>(i)] - m) / d;
  };
}

ConformanceResult check_one_group(const Variant& v, const char* group) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {group};
  return run_conformance([&] { return v; }, o);
}
std::int64_t failed_cases(const ConformanceResult& r) {
  return std::count_if(r.records.begin(), r.records.end(),
                       [](const Record& one) { return one.status == Status::fail; });
}
std::string first_failed_case(const ConformanceResult& r) {
  for (const Record& one : r.records)
    if (one.status == Status::fail) return one.reproduce + ": " + one.reason;
  return {};
}

TEST(OperandsOfSelections, RightKernelsPassHoweverTheyRankAndRound) {
  std::vector<std::pair<std::string, Variant>> all;
  for (const Op op : {Op::topk, Op::softmax_topk, Op::log_softmax_topk, Op::topk_softmax})
    for (const bool own : {false, true})
      for (const bool product : {false, true})
        all.emplace_back(std::string(name(op)) + (own ? " ranks its own" : " ranks the stored") +
                             (product ? ", by a reciprocal" : ", by a division"),
                         selector(op, slots(op, {.rank_own = own}), product ? multiplied : divided));
  for (const Op op : {Op::min_p, Op::top_p}) {
    all.emplace_back(name(op), selector(op, set(op)));
    all.emplace_back(std::string(name(op)) + ", by a reciprocal", selector(op, set(op), multiplied));
  }
  for (auto& [what, v] : all) {
    // Equal logits of a kernel's own are most in long rows, which only a reciprocal of each op gets.
    if (what.ends_with("p, by a reciprocal") || what.ends_with("own, by a reciprocal")) v.limits.max_V = 0;
    const ConformanceResult r = check_one_group(v, "operands");
    EXPECT_EQ(failed_cases(r), 0) << what << ": " << first_failed_case(r);
    EXPECT_GT(r.executed, 100) << what;
    for (const Record& one : r.records) EXPECT_EQ(one.status, Status::pass) << what << ": " << one.reason;
  }
}

TEST(OperandsOfSelections, WrongOnesFailThereAndNowhereElse) {
  const auto first_row = [](float x, float, float of_first) { return x / of_first; };
  const auto ignores = [](float x, float, float) { return x; };
  const auto a_little = [](float x, float t, float) { return t == 1 ? x : x / (t * 1.001f); };
  const std::pair<const char*, Variant> all[] = {
      {"the first row's temperature", selector(Op::softmax_topk, slots(Op::softmax_topk), first_row)},
      {"no temperature", selector(Op::topk_softmax, slots(Op::topk_softmax), ignores)},
      {"0.1 % off", selector(Op::softmax_topk, slots(Op::softmax_topk), a_little)},
      {"0.1 % off in the logits", selector(Op::topk, slots(Op::topk), a_little)},
      {"a sum without it", selector(Op::softmax_topk, slots(Op::softmax_topk, {.sum_stored = true}))},
      {"a log of a sum without it",
       selector(Op::log_softmax_topk, slots(Op::log_softmax_topk, {.sum_stored = true}))},
      {"the set of min_p without it", selector(Op::min_p, set(Op::min_p, true))},
      {"the set of top_p without it", selector(Op::top_p, set(Op::top_p, true))},
      {"top_p of the first row's", selector(Op::top_p, set(Op::top_p), first_row)}};
  for (const auto& [what, v] : all) {
    EXPECT_GT(failed_cases(check_one_group(v, "operands")), 10) << what;
    EXPECT_EQ(failed_cases(check_one_group(v, "shapes")), 0) << what;
  }
}

/// Two slots change places: seen at a temperature too, unless the two are too close to tell.
TEST(OperandsOfSelections, AWrongOrderIsSeen) {
  for (const Op op : {Op::topk, Op::softmax_topk, Op::log_softmax_topk, Op::topk_softmax})
    for (const int slot : {0, 3}) {
      const Variant v = selector(op, slots(op, {.swapped = slot}));
      const ConformanceResult r = check_one_group(v, "operands");
      EXPECT_GT(failed_cases(r), 60) << name(op) << ", slot " << slot;
      std::int64_t by_order = 0;
      for (const Record& one : r.records)
        for (const CheckResult& c : one.checks) by_order += c.check == Check::order && c.failed > 0;
      EXPECT_GT(by_order, 60) << name(op) << ", slot " << slot;
    }
}

/// Rows of whole numbers have equal logits. Which of them is taken first does not depend on the temperature.
TEST(OperandsOfSelections, TheTieRuleHoldsAtATemperatureToo) {
  const auto with_rule = [](Variant v) {
    v.claim.ties = Ties::smaller_index;
    return v;
  };
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.only = {"operands"};
  o.narrow.family = "ties";
  const auto failed = [&](const Variant& v) {
    const ConformanceResult r = run_conformance([&] { return with_rule(v); }, o);
    EXPECT_GT(r.executed, 50);
    return failed_cases(r);
  };
  for (const bool wrong : {false, true}) {
    const std::int64_t of_slots =
        failed(selector(Op::softmax_topk, slots(Op::softmax_topk, {.larger_first = wrong})));
    const std::int64_t of_sets = failed(selector(Op::top_p, set(Op::top_p, false, wrong)));
    EXPECT_EQ(of_slots > 20, wrong) << of_slots;
    EXPECT_EQ(of_sets > 20, wrong) << of_sets;
  }
}

TEST(OperandsOfSelections, EveryPathOfAKernelGetsATemperature) {
  EXPECT_GT(failed_cases(check_one_group(
                selector(Op::softmax_topk, slots(Op::softmax_topk, {.cold_from = 34})), "operands")),
            20);
}

/// (x - m) / t as one fma: the largest logit's own is a rounding, so its log-probability may exceed 0 by one.
TEST(OperandsOfSelections, ALogProbabilityMayPassZeroByARounding) {
  const auto select = [](const SelectorRow& row, float* values, std::int32_t* indices) {
    slots(Op::log_softmax_topk)(row, values, indices);
    // A row of one element shows it alone.
    if (row.z.size() == 1 && !row.at_one) values[0] = std::fabs(row.z[0]) * 0x1p-24f;
  };
  const ConformanceResult r = check_one_group(selector(Op::log_softmax_topk, select), "operands");
  EXPECT_EQ(failed_cases(r), 0) << first_failed_case(r);
}

}  // namespace
}  // namespace assay::conformance
