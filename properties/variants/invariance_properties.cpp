// SPDX-License-Identifier: Apache-2.0
// Properties of a row and its image: shifted, permuted, with -inf inserted, split in two. The results are
// bit-equal if the arithmetic is the same; otherwise they differ by at most the sum of the two bounds.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "properties/reduction_tree.hpp"
#include "properties/variants/variant_properties.hpp"

namespace assay {
namespace {

/// Judges column `from` of the row and column `to` of its image, then compares them. Empty, or what is wrong.
std::string differ(const Answer& a, const RowLimits& of_a, std::int64_t from, const Answer& b,
                   const RowLimits& of_b, std::int64_t to) {
  const Interval &i = of_a.value[static_cast<std::size_t>(from)],
                 &j = of_b.value[static_cast<std::size_t>(to)];
  const double g = a.value(0, from), h = b.value(0, to);
  if (!i.contains(g)) return fmt::format("column {}: {:a} is outside its bound", from, g);
  if (!j.contains(h)) return fmt::format("column {} of the image: {:a} is outside its bound", to, h);
  if (!agree(g, i, h, j))
    return fmt::format("column {}, {} of the image: {:a} and {:a} are further apart than both bounds", from,
                       to, g, h);
  return {};
}

bool gives_rows(const Variant& v) { return v.op == Op::softmax || v.op == Op::log_softmax; }

/// A right kernel computes the same differences x_i - m after an exact shift.
bool sees_differences_only(const Variant& v) {
  return v.claim.shift == Shift::subtract && v.claim.exp != Exp::exp2_fma &&
         v.claim.determinism != Determinism::not_guaranteed &&
         !(v.op == Op::log_softmax && v.claim.log_form != LogForm::shifted);
}

/// A row on a grid and a shift on the same grid, so that x_i + c can be exact. `exact` says whether all are.
Row shifted(const Row& row, double c, bool& exact) {
  Row image = row;
  exact = true;
  for (Float& x : image.logits) {
    const double sum = x.value() + c;
    x = {x.format, encode(x.format, sum)};
    exact = exact && x.value() == sum && !std::isinf(sum) == std::isfinite(x.value());
  }
  return image;
}

void shift(const Variant& v) {
  Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  Draw draw = draw_more();
  const Dtype t = v.dtype;
  double c = round_to(t, draw.between(-30, 30));
  if (draw.one_in(2)) {
    // Multiples of one unit, of at most a quarter of the significand: the sum of two is exact.
    const int p = format(t).precision;
    const double unit = exp2i(static_cast<int>(draw.below(6)) - p + 3), most = std::ldexp(1.0, p - 2);
    for (Float& x : row.logits)
      if (std::isfinite(x.value()))
        x = {t, encode(t, unit * std::nearbyint(std::clamp(x.value() / unit, -most, most)))};
    c = unit * std::nearbyint(draw.between(-most, most));
  }
  bool exact = false;
  const Row image = shifted(row, c, exact);
  RC_PRE(is_finite_or_masked(image));
  classify(row);
  RC_TAG(std::string(exact ? "every x + c is exact" : "some x + c is rounded"));
  const Answer a = run(v, v.op, tensor_of({row})), b = run(v, v.op, tensor_of({image}));
  if (exact && sees_differences_only(v)) {
    RC_TAG(std::string("bit-equal"));
    RC_ASSERT(a.bits == b.bits);
    if (!a.d.empty()) RC_ASSERT(same(a.d[0], b.d[0]));
    return;
  }
  const RowLimits of_a = limits_of(v, v.op, row), of_b = limits_of(v, v.op, image);
  if (!of_a.outside.empty() || !of_b.outside.empty()) return;
  RC_TAG(std::string("within both bounds"));
  // If x + c was rounded, the image is another row and must meet its own bound.
  for (std::int64_t j = 0; j < a.problem.V; ++j) {
    const std::string wrong = exact ? differ(a, of_a, j, b, of_b, j) : differ(b, of_b, j, b, of_b, j);
    if (!wrong.empty()) RC_FAIL(wrong);
  }
}

void permutation(const Variant& v) {
  const Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  Draw draw = draw_more();
  std::vector<std::size_t> order(row.logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw.below(i)]);
  Row image = row;
  for (std::size_t j = 0; j < order.size(); ++j) image.logits[j] = row.logits[order[j]];
  classify(row);
  const RowLimits of_row = limits_of(v, v.op, row), of_image = limits_of(v, v.op, image);
  if (!of_row.outside.empty()) return;
  RC_TAG(std::string("inside the domain"));
  const Answer a = run(v, v.op, tensor_of({row})), b = run(v, v.op, tensor_of({image}));
  bool visible = false;
  for (std::size_t j = 0; j < order.size(); ++j) {
    const auto from = static_cast<std::int64_t>(order[j]), to = static_cast<std::int64_t>(j);
    visible = visible || a.bits_at(0, from) != b.bits_at(0, to);
    const std::string wrong = differ(a, of_row, from, b, of_image, to);
    if (!wrong.empty()) RC_FAIL(wrong);
  }
  RC_CLASSIFY(visible, "the order is visible");
}

/// -inf between the logits changes only the row length: there the output is exactly 0, and the rest agrees
/// within both bounds.
void inserted_minus_infinity(const Variant& v) {
  const Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  Draw draw = draw_more();
  const Format f = format(v.dtype);
  const Float absent{v.dtype, f.sign_mask() | f.infinity_bits()};
  // A run at the front, single ones in between, or a stretch longer than a block.
  Row image{Structure::masked, {}};
  std::vector<std::int64_t> place;
  const std::uint64_t kind = draw.below(3);
  if (kind == 0) image.logits.assign(1 + draw.below(300), absent);
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    if (kind == 1)
      for (std::uint64_t n = draw.below(3); n > 0; --n) image.logits.push_back(absent);
    if (kind == 2 && j == row.logits.size() / 2) image.logits.insert(image.logits.end(), 300, absent);
    place.push_back(static_cast<std::int64_t>(image.logits.size()));
    image.logits.push_back(row.logits[j]);
  }
  classify(row);
  RC_CLASSIFY(kind == 0, "-inf in front");
  const RowLimits of_row = limits_of(v, v.op, row), of_image = limits_of(v, v.op, image);
  if (!of_row.outside.empty() || !of_image.outside.empty()) return;
  RC_TAG(std::string("inside the domain"));
  const Answer a = run(v, v.op, tensor_of({row})), b = run(v, v.op, tensor_of({image}));
  for (std::size_t j = 0; j < place.size(); ++j) {
    const std::string wrong = differ(a, of_row, static_cast<std::int64_t>(j), b, of_image, place[j]);
    if (!wrong.empty()) RC_FAIL(wrong);
  }
  const std::string wrong = outside_limits(b, 0, of_image);  // exactly 0 (or -inf) at the inserted columns
  if (!wrong.empty()) RC_FAIL(wrong);
}

bool splits(const Variant& v) {
  return v.does(Op::normalizer) && v.claim.exp != Exp::exp2_fma && v.claim.epsilon == 0;
}
/// Merges (m, d) of two parts by ⊕ and compares with (m, d) of the whole row: m exactly, d within the bounds
/// of both parts, of the merge and of the whole.
void split_against_whole(const Variant& v) {
  const Row row = *variant_rows({std::begin(kFiniteMaximum), std::end(kFiniteMaximum)}, v.dtype);
  RC_PRE(row.logits.size() >= 2);
  Draw draw = draw_more();
  const auto cut = static_cast<std::ptrdiff_t>(1 + draw.below(row.logits.size() - 1));
  const Row front{row.structure, {row.logits.begin(), row.logits.begin() + cut}};
  const Row back{row.structure, {row.logits.begin() + cut, row.logits.end()}};
  classify(row);
  RC_CLASSIFY(!is_finite_or_masked(front) || !is_finite_or_masked(back), "a part of nothing but -inf");
  const RowLimits whole_limits = limits_of(v, Op::normalizer, row);
  if (!whole_limits.outside.empty()) return;
  const Answer whole = run(v, Op::normalizer, tensor_of({row}));
  Pair parts[2];
  ExactSum exact;
  double parts_bound = 0;
  for (int i = 0; i < 2; ++i) {
    const Row& part = i == 0 ? front : back;
    if (!is_finite_or_masked(part)) {
      parts[i] = Algebra::identity;
      exact.distance.push_back(-INFINITY);
      exact.weight.push_back(0);
      continue;
    }
    const RowLimits l = limits_of(v, Op::normalizer, part);
    if (!l.outside.empty()) return;
    const Answer a = run(v, Op::normalizer, tensor_of({part}));
    parts[i] = {a.m[0], a.d[0]};
    exact.distance.push_back(l.terms.shifted ? l.truth.m - whole_limits.truth.m : 0);
    exact.weight.push_back(l.terms.shifted ? l.truth.s.hi : std::exp(l.truth.lse.hi));
    parts_bound = std::max(parts_bound, l.bounds.b);
  }
  RC_TAG(std::string("inside the domain"));
  exact.sum = whole_limits.terms.shifted ? whole_limits.truth.s.lo : std::exp(whole_limits.truth.lse.lo);
  const Algebra& merge = host::accurate;
  const std::vector<Pair> leaves(parts, parts + 2);
  const Pair merged = merge.combine(parts[0], parts[1]);
  RC_ASSERT(merged.m == whole.m[0]);
  const double bound = parts_bound +
                       log_error_bound(merge, counts_of(leaves, std::vector<Merge>{{0, 1}}), exact) +
                       whole_limits.bounds.b;
  const double error = std::fabs(std::log(static_cast<double>(merged.d) / static_cast<double>(whole.d[0])));
  RC_ASSERT(error <= bound + 0x1p-45);
}

}  // namespace

std::vector<VariantProperty> invariance_properties() {
  return {
      {"shift_is_bit_equal_where_exact",
       gives_rows,
       shift,
       60,
       {"every x + c is exact", "some x + c is rounded", "bit-equal", "within both bounds", "-inf", "masked",
        "mixed", "ascending"}},
      {"permutation_stays_within_both_bounds",
       gives_rows,
       permutation,
       60,
       {"the order is visible", "inside the domain", "ascending", "mixed", "masked", "-inf"}},
      {"inserted_minus_infinity_changes_nothing",
       gives_rows,
       inserted_minus_infinity,
       60,
       {"-inf in front", "inside the domain", "moderate", "mixed", "masked"}},
      {"split_normalizers_merge_to_the_whole",
       splits,
       split_against_whole,
       60,
       {"a part of nothing but -inf", "inside the domain", "moderate", "mixed", "masked"}},
  };
}

// Properties of a row among other rows. Its outputs must not depend on its neighbours, its position, the
// schedule of the launch or the place of the outputs. All are checked bit for bit.

namespace {

constexpr Structure kEvery[] = {Structure::uniform,     Structure::moderate, Structure::equal_runs,
                                Structure::ascending,   Structure::ramp,     Structure::huge,
                                Structure::overflow,    Structure::mixed,    Structure::masked,
                                Structure::all_neg_inf, Structure::poisoned};
Row draw_row(const Variant& v) {
  Row row = *variant_rows({std::begin(kEvery), std::end(kEvery)}, v.dtype);
  classify(row);
  return row;
}

/// A row of the same length and format.
Row neighbour_of(const Row& row, Structure s, Draw& draw) {
  Row n{s, row.logits};
  const Format f = format(row.format());
  for (Float& x : n.logits) switch (s) {
      case Structure::poisoned:
        x.bits = f.exponent_mask() | (draw.one_in(2) ? f.mantissa_mask() : 0);
        break;
      case Structure::all_neg_inf:
        x.bits = f.sign_mask() | f.infinity_bits();
        break;
      default:
        x = draw_float(draw, row.format(), {});
    }
  return n;
}

/// A row's outputs depend on the row alone. A kernel that sums in vectors from the first aligned element on
/// may sum a row in another order if it starts elsewhere. Such a kernel says so, and only its bounds are
/// checked.
bool claims_batch(const Variant& v) { return v.claim.batch_invariant; }
bool claims_the_row_alone(const Variant& v) {
  return claims_batch(v) && v.claim.determinism != Determinism::not_guaranteed;
}

void duplicated_rows(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Row other = neighbour_of(row, Structure::uniform, draw);
  const Answer a = run(v, v.op, tensor_of({row, other, row, row}), {.pick = pick});
  RC_ASSERT(same_row(a, 0, a, 2));
  RC_ASSERT(same_row(a, 0, a, 3));
}

/// Rows of NaN and infinities on either side give the same bits as ordinary rows on either side.
void neighbours_do_not_leak(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Row calm = neighbour_of(row, Structure::uniform, draw);
  const Row poison = neighbour_of(row, Structure::poisoned, draw);
  const Row nothing = neighbour_of(row, Structure::all_neg_inf, draw);
  const Answer among_calm = run(v, v.op, tensor_of({calm, row, calm, row, calm}), {.pick = pick});
  const Answer among_poison = run(v, v.op, tensor_of({poison, row, poison, row, nothing}), {.pick = pick});
  RC_ASSERT(same_row(among_calm, 1, among_poison, 1));
  RC_ASSERT(same_row(among_calm, 3, among_poison, 3));
}

/// A row alone, and at any place in a batch of any size, with gaps between the rows and few blocks.
void any_batch(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  // A block may hold 8 or 64 rows; more rows need the next block.
  const std::size_t size = draw.one_in(6) ? 65 + draw.below(16) : 2 + draw.below(9);
  const std::size_t place = draw.one_in(3) ? size - 1 : draw.below(size);
  RC_CLASSIFY(size > 64, "more than 64 rows");
  RC_CLASSIFY(place > 0, "not the first row");
  std::vector<Row> rows(size, neighbour_of(row, Structure::uniform, draw));
  rows[place] = row;
  const Answer alone = run(v, v.op, tensor_of({row}), {.pick = pick});
  VariantRunOptions options{.pick = pick, .gap = static_cast<std::int64_t>(draw.below(4))};
  options.launch.max_blocks = static_cast<std::int64_t>(draw.below(3));
  const Answer batch = run(v, v.op, tensor_of(rows), options);
  RC_ASSERT(same_row(alone, 0, batch, static_cast<std::int64_t>(place)));
}

bool claims_in_place(const Variant& v) { return v.claim.in_place && claims_the_row_alone(v); }
void in_place(const Variant& v) {
  const Row row = draw_row(v);
  Draw draw = draw_more();
  const Tensor rows = tensor_of({row, neighbour_of(row, Structure::uniform, draw), row});
  const Answer apart = run(v, v.op, rows);
  VariantRunOptions options;
  options.launch.in_place = true;
  options.launch.schedule = draw.below(1000);
  const Answer over = run(v, v.op, rows, options);
  for (std::int64_t r = 0; r < 3; ++r) RC_ASSERT(same_row(apart, r, over, r));
}

bool claims_run_to_run(const Variant& v) { return v.claim.determinism != Determinism::not_guaranteed; }
/// On the host the schedule of threads, warps and blocks is a seed. On a GPU it is just another launch.
void any_schedule(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Tensor rows = tensor_of({row, neighbour_of(row, Structure::uniform, draw)});
  const Answer first = run(v, v.op, rows, {.pick = pick});
  VariantRunOptions options{.pick = pick};
  options.launch.schedule = 1 + draw.below(1u << 20);
  RC_CLASSIFY(row.logits.size() > 256, "more than 256 logits");
  const Answer second = run(v, v.op, rows, options);
  for (std::int64_t r = 0; r < 2; ++r) RC_ASSERT(same_row(first, r, second, r));
}

}  // namespace

std::vector<VariantProperty> batch_properties() {
  return {
      {"duplicated_rows_are_bit_equal",
       claims_the_row_alone,
       duplicated_rows,
       16,
       {"subnormal", "-inf", "NaN", "+inf", "mixed", "masked", "all_neg_inf"}},
      {"neighbours_do_not_leak",
       claims_run_to_run,
       neighbours_do_not_leak,
       16,
       {"moderate", "mixed", "masked", "subnormal", "-inf"}},
      {"any_place_in_any_batch_is_bit_equal",
       claims_batch,
       any_batch,
       16,
       {"not the first row", "more than 64 rows", "mixed", "masked", "-inf"}},
      {"in_place_equals_out_of_place",
       claims_in_place,
       in_place,
       30,
       {"moderate", "mixed", "masked", "-inf"}},
      {"any_schedule_is_bit_equal",
       claims_run_to_run,
       any_schedule,
       30,
       {"moderate", "ascending", "mixed", "masked", "-inf", "more than 256 logits"}},
  };
}

}  // namespace assay
