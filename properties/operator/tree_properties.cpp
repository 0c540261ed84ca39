// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "accuracy/bounds/bounds.hpp"
#include "properties/float_generators.hpp"
#include "properties/operator/operator_properties.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {
namespace {

/// One reduction of a row, judged by its own bound.
struct Reduced {
  Pair value;
  double bound = 0;
  TreeVerdict verdict;
};
Reduced reduce(const Algebra& a, const Row& row, const std::vector<Merge>& merges, const ExactRow& exact) {
  const std::vector<Pair> leaves = leaves_of(a, row);
  const TreeCounts counts = counts_of(leaves, merges);
  const Pair value = values_of(a, leaves, merges).back();
  return {value, log_error_bound(a, counts, exact.lo), judge(a, value, counts, exact)};
}

double log_ratio(Pair a, Pair b) {
  return std::fabs(std::log(static_cast<double>(a.d) / static_cast<double>(b.d)));
}

/// |ln(computed d / exact d)|. The exact d is in double: 2^29 times finer than what is judged.
double log_error(Pair computed, double exact) {
  return std::fabs(std::log(static_cast<double>(computed.d) / exact));
}

void associative_within_bounds(const Algebra& a) {
  const auto v = *drawn_pairs(3, Carrier::counts, a.format);
  const double m = static_cast<double>(std::max({v[0].m, v[1].m, v[2].m}));
  ExactSum exact;
  for (Pair p : v) {
    exact.distance.push_back(static_cast<double>(p.m) - m);
    exact.weight.push_back(static_cast<double>(p.d));
    exact.sum += exact.weight.back() * std::exp(exact.distance.back());
  }
  RC_CLASSIFY(std::count(exact.distance.begin(), exact.distance.end(), 0.0) > 1, "tie at the maximum");
  RC_CLASSIFY(
      std::all_of(exact.weight.begin(), exact.weight.end(), [&](double w) { return exact.sum > 1.01 * w; }),
      "several terms count");
  const std::vector<Merge> left = merges_of({Shape::left}, 3), right = merges_of({Shape::right}, 3);
  const Pair left_value = a.combine(a.combine(v[0], v[1]), v[2]);
  const Pair right_value = a.combine(v[0], a.combine(v[1], v[2]));
  const double left_bound = log_error_bound(a, counts_of(v, left), exact);
  const double right_bound = log_error_bound(a, counts_of(v, right), exact);
  RC_ASSERT(log_error(left_value, exact.sum) <= left_bound);
  RC_ASSERT(log_error(right_value, exact.sum) <= right_bound);
  RC_ASSERT(log_ratio(left_value, right_value) <= left_bound + right_bound);
}

void any_tree_within_bounds(const Algebra& a) {
  const Row row = *rows(with_finite_maximum(), formats_exact_in(a.format));
  const Tree tree = *trees();
  classify(row);
  RC_TAG(std::string(name(tree.shape)) + " tree");
  const ExactRow exact = exact_row(row);
  const Reduced r = reduce(a, row, merges_of(tree, row.logits.size()), exact);
  RC_CLASSIFY(r.verdict.utilisation > 0.05, "sharp: error over 0.05 of the bound");
  RC_ASSERT(static_cast<double>(r.value.m) == exact.m);
  RC_ASSERT(r.verdict.within);
}

/// The same row in two orders, with the same tree shape. The results differ by at most the sum of both
/// bounds.
void any_order_within_bounds(const Algebra& a) {
  const Row row = *rows(with_finite_maximum(), formats_exact_in(a.format));
  Tree tree = *trees();
  classify(row);
  const ExactRow exact = exact_row(row);
  tree.permuted = false;
  const Reduced in_order = reduce(a, row, merges_of(tree, row.logits.size()), exact);
  tree.permuted = true;
  const Reduced permuted = reduce(a, row, merges_of(tree, row.logits.size()), exact);
  RC_CLASSIFY(!same(in_order.value, permuted.value), "the order is visible in d");
  RC_ASSERT(in_order.value.m == permuted.value.m);
  RC_ASSERT(log_ratio(in_order.value, permuted.value) <= in_order.bound + permuted.bound);
  RC_ASSERT(in_order.verdict.within && permuted.verdict.within);
}

/// Compares a row reduced in tiles, whose results are merged, with the row in one serial pass.
void any_tiling_within_bounds(const Algebra& a) {
  const Row row = *rows(with_finite_maximum(), formats_exact_in(a.format));
  const Tree tiles = *trees({Shape::tiled});
  RC_PRE(tiles.shape == Shape::tiled);
  classify(row);
  const ExactRow exact = exact_row(row);
  const Reduced whole = reduce(a, row, merges_of({Shape::left}, row.logits.size()), exact);
  const Reduced tiled = reduce(a, row, merges_of(tiles, row.logits.size()), exact);
  RC_CLASSIFY(!same(whole.value, tiled.value), "the tiling is visible in d");
  RC_ASSERT(whole.value.m == tiled.value.m);
  RC_ASSERT(log_ratio(whole.value, tiled.value) <= whole.bound + tiled.bound);
  RC_ASSERT(tiled.verdict.within);
}

void between_one_and_count(const Algebra& a) {
  const Row row = *rows(with_finite_maximum(), formats_exact_in(a.format));
  const Tree tree = *trees();
  const std::vector<Pair> leaves = leaves_of(a, row);
  RC_CLASSIFY(is_identity(leaves[0]), "-inf in front");
  classify(row);
  // Every node of a serial tree is a prefix.
  for (Tree t : {Tree{Shape::left}, tree}) {
    const auto merges = merges_of(t, leaves.size());
    if (merges.empty()) continue;
    const std::string wrong =
        d_outside_its_count(a, merges, values_of(a, leaves, merges), counts_of(leaves, merges));
    if (!wrong.empty()) RC_FAIL(wrong);
  }
}

/// The leaves already are counts, so that trees reach and pass 2^p, up to which a format counts exactly.
void weighted_counts_around_two_to_the_p(const Algebra& a) {
  const auto n = static_cast<std::size_t>(*rc::gen::inRange(2, 12));
  auto leaves = *drawn_pairs(static_cast<int>(n), Carrier::counts, a.format);
  const Tree tree = *trees();
  for (Pair& p : leaves) p.d = std::floor(p.d);
  const auto merges = merges_of(tree, n);
  const TreeCounts counts = counts_of(leaves, merges);
  RC_CLASSIFY(counts.terms.back() > exact_count(a.format), "past 2^p");
  RC_CLASSIFY(counts.terms.back() > exact_count(a.format) / 2 && counts.terms.back() <= exact_count(a.format),
              "up to 2^p");
  const std::string wrong = d_outside_its_count(a, merges, values_of(a, leaves, merges), counts);
  if (!wrong.empty()) RC_FAIL(wrong);
}

}  // namespace

std::vector<Dtype> formats_exact_in(Dtype arithmetic) {
  if (arithmetic == Dtype::f32) return {std::begin(kLogitFormats), std::end(kLogitFormats)};
  return {arithmetic};
}

std::vector<Structure> with_finite_maximum() {
  return {std::begin(kFiniteMaximum), std::end(kFiniteMaximum)};
}

std::vector<Pair> leaves_of(const Algebra& a, const Row& row) {
  std::vector<float> x;
  for (Float v : row.logits) x.push_back(v.as_float());
  std::vector<Pair> leaves(x.size());
  a.leaf_each(x.data(), leaves.data(), x.size());
  return leaves;
}

ExactRow exact_row(const Row& row) {
  std::vector<float> x;  // every logit is exact in f32
  for (Float v : row.logits) x.push_back(v.as_float());
  const RowTruth truth = row_truth(Dtype::f32, x.data(), static_cast<std::int64_t>(x.size()), Dtype::f32);
  const std::vector<double> ones(truth.d.size(), 1);
  return {truth.m, {truth.d, ones, truth.s.lo}, {truth.d, ones, truth.s.hi}};
}

TreeVerdict judge(const Algebra& a, Pair computed, const TreeCounts& counts, const ExactRow& exact) {
  const double bound = log_error_bound(a, counts, exact.lo);
  const double error = std::max(log_error(computed, exact.lo.sum), log_error(computed, exact.hi.sum));
  // max() ignores a NaN in second place, so both are tested.
  const bool within =
      log_error(computed, exact.lo.sum) <= bound && log_error(computed, exact.hi.sum) <= bound;
  return {error / bound, within};
}

std::string d_outside_its_count(const Algebra& a, std::span<const Merge> merges, std::span<const Pair> values,
                                const TreeCounts& counts) {
  const double u = unit_roundoff(a.format);
  for (std::size_t k = 0; k < merges.size(); ++k) {
    const double j = counts.terms[k];
    const Pair v = values[k];
    if (j == 0) {
      if (!(is_identity(v) && v.d == 0))
        return fmt::format("node {} holds nothing and is ({:a}, {:a}), not the identity", k, v.m, v.d);
      continue;
    }
    const double top = j <= exact_count(a.format) ? j : j * std::exp(counts.height[k] * lam(u));
    if (!(v.d >= 1.0f && static_cast<double>(v.d) <= top))
      return fmt::format("node {}: d = {:a} of {} terms is outside [1, {}]", k, v.d, j, top);
  }
  return {};
}

const std::vector<Property>& tree_properties() {
  static const std::vector<Property> all = {
      {"associative_within_bounds",
       associative_within_bounds,
       50,
       {"tie at the maximum", "several terms count"}},
      {"any_tree_within_bounds",
       any_tree_within_bounds,
       30,
       {"uniform",
        "moderate",
        "equal_runs",
        "ascending",
        "ramp",
        "huge",
        "overflow",
        "mixed",
        "masked",
        "zero",
        "subnormal",
        "normal",
        "-inf",
        "left tree",
        "right tree",
        "balanced tree",
        "strided tree",
        "skewed tree",
        "scattered tree",
        "tiled tree",
        "-0",
        "e^max overflows",
        "e^max vanishes",
        "x - max overflows",
        "tie at the maximum",
        "sharp: error over 0.05 of the bound"}},
      {"any_order_within_bounds",
       any_order_within_bounds,
       15,
       {"ascending", "mixed", "masked", "subnormal", "-inf", "the order is visible in d"}},
      {"any_tiling_within_bounds",
       any_tiling_within_bounds,
       15,
       {"ascending", "mixed", "masked", "subnormal", "-inf", "the tiling is visible in d"}},
      {"between_one_and_count",
       between_one_and_count,
       20,
       {"-inf in front", "equal_runs", "ramp", "mixed", "subnormal"}},
      {"weighted_counts_around_two_to_the_p",
       weighted_counts_around_two_to_the_p,
       20,
       {"past 2^p", "up to 2^p"}},
  };
  return all;
}

}  // namespace assay
