// SPDX-License-Identifier: Apache-2.0
#include "properties/variants/variant_properties.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "accuracy/case/before_launch.hpp"
#include "accuracy/case/case.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "kernels/candidate.hpp"
#include "properties/algebra.hpp"
#include "reference/operand_table.hpp"

namespace assay {
namespace {

Image filled(std::int64_t elements, std::size_t size, std::uint64_t bits, std::size_t guard) {
  Image image(static_cast<std::size_t>(elements) * size, 0, guard);
  std::memset(image.data(), 0xff, image.size());
  for (std::int64_t i = 0; i < elements; ++i)
    std::memcpy(image.payload() + static_cast<std::size_t>(i) * size, &bits, size);
  return image;
}

/// Creates the images of the problem's operands so that nothing is left out, added or divided. `guard`: bytes
/// of guard band on either side.
void add_neutral_operands(Images& images, const Problem& p, std::size_t guard) {
  const std::array<Image*, 4> to = {&images.mask, &images.bias, &images.lengths, &images.temperatures};
  const std::array<OperandBuffer, 4> all = operand_buffers(p);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].size > 0) *to[i] = filled(all[i].elements, all[i].size, all[i].neutral, guard);
}

/// Guard bands around: a kernel may write beside its rows and must not crash the test.
Image filled(std::size_t bytes, std::uint64_t word) {
  Image image(bytes, 0, 512);
  for (std::size_t i = 0; i + sizeof word <= image.size(); i += sizeof word)
    std::memcpy(image.data() + i, &word, sizeof word);
  return image;
}

bool same_value(Dtype t, std::uint64_t a, std::uint64_t b) {
  return a == b || (is_nan_bits(t, a) && is_nan_bits(t, b));
}

}  // namespace

Answer run(const Variant& variant, Op op, const Tensor& logits, const VariantRunOptions& options) {
  Answer answer;
  Problem& p = answer.problem;
  p.op = op;
  p.in = variant.dtype;
  p.out = variant.out();
  p.rows = logits.rows;
  p.V = logits.V;
  if (picks(op)) p.take(options.pick);
  p.operands = variant.operands;
  const std::int64_t gap = variant.limits.dense ? 0 : options.gap;
  p.in_pitch = p.V + gap;
  p.out_pitch = p.out_columns() + gap;
  const std::size_t element = size_of(p.in);
  const auto bytes = [](std::int64_t n, std::size_t size) { return static_cast<std::size_t>(n) * size; };
  const bool in_place = options.launch.in_place;

  // What memory holds before is drawn for these logits. Outputs of one launch in four are zeros, as in use.
  std::uint64_t first = 0;
  if (!logits.bytes.empty())
    std::memcpy(&first, logits.bytes.data(), std::min(sizeof first, logits.bytes.size()));
  const std::uint64_t draw = drawn(drawn_for("properties", p.V, p.rows, seed_of_run()) ^ first);
  const std::uint64_t nans = drawn_nans(draw >> 2), before = draw % 4 == 0 ? 0 : nans;

  Images images;
  images.logits = filled(bytes(p.rows * p.in_pitch, element), nans);
  for (std::int64_t r = 0; r < p.rows; ++r)
    std::memcpy(images.logits.payload() + bytes(r * p.in_pitch, element), logits.row(r), bytes(p.V, element));
  if (p.out_columns() > 0 && !in_place)
    images.probs = filled(bytes(p.rows * p.out_pitch, size_of(p.out)), before);
  if (selects(op)) images.indices = filled(bytes(p.rows * p.out_pitch, sizeof(std::int32_t)), before);
  const bool normalizer =
      op == Op::normalizer || (variant.writes_normalizer && (op == Op::softmax || op == Op::softmax_topk));
  if (normalizer) {
    images.m = filled(bytes(p.rows, sizeof(float)), before);
    images.d = filled(bytes(p.rows, sizeof(float)), before);
  }
  if (const std::size_t n = variant.workspace_bytes ? variant.workspace_bytes(p) : 0; n > 0)
    images.workspace = filled(n, before);

  add_neutral_operands(images, p, 512);
  if (const LaunchOutcome outcome = launch(variant, p, images, options.launch); !outcome.ok())
    throw std::runtime_error(variant.key() + ": " + outcome.fault);

  const std::byte* values = in_place ? images.logits.payload() : images.probs.payload();
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t j = 0; j < p.out_columns(); ++j)
      answer.bits.push_back(load_bits(p.out, values, r * p.out_pitch + j));
  if (selects(op))
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t j = 0; j < p.k; ++j)
        answer.indices.push_back(
            reinterpret_cast<const std::int32_t*>(images.indices.payload())[r * p.out_pitch + j]);
  if (normalizer) {
    const auto* m = reinterpret_cast<const float*>(images.m.payload());
    const auto* d = reinterpret_cast<const float*>(images.d.payload());
    answer.m.assign(m, m + p.rows);
    answer.d.assign(d, d + p.rows);
  }
  return answer;
}

bool same_row(const Answer& a, std::int64_t row_of_a, const Answer& b, std::int64_t row_of_b) {
  for (std::int64_t j = 0; j < a.problem.out_columns(); ++j)
    if (!same_value(a.problem.out, a.bits_at(row_of_a, j), b.bits_at(row_of_b, j))) return false;
  for (std::int64_t r = 0; selects(a.problem.op) && r < a.problem.k; ++r)
    if (a.index(row_of_a, r) != b.index(row_of_b, r)) return false;
  const auto i = static_cast<std::size_t>(row_of_a), j = static_cast<std::size_t>(row_of_b);
  if (a.m.empty()) return true;
  // If a row has a NaN, d is NaN, and m depends on which elements were merged last.
  if (std::isnan(a.d[i]) && std::isnan(b.d[j])) return true;
  return same(Pair{a.m[i], a.d[i]}, Pair{b.m[j], b.d[j]});
}

Tensor tensor_of(const std::vector<Row>& rows) {
  Tensor t(rows.front().format(), static_cast<std::int64_t>(rows.size()),
           static_cast<std::int64_t>(rows.front().logits.size()));
  for (std::int64_t r = 0; r < t.rows; ++r)
    for (std::int64_t j = 0; j < t.V; ++j)
      store_bits(t.dtype, t.row(r), j,
                 rows[static_cast<std::size_t>(r)].logits[static_cast<std::size_t>(j)].bits);
  return t;
}

namespace {

/// The exponent is computed first: on far rows p is 0 and e^A is infinite.
Interval probability(const RowLimits& l, std::size_t j) {
  if (std::isinf(l.truth.d[j])) return {0, 0};
  const double A = l.bounds.A[j] * (1 + 0x1p-40) + 0x1p-48;  // plus this function's own rounding
  return {std::exp(l.truth.d[j] - A) / l.truth.s.hi - l.bounds.w,
          std::exp(l.truth.d[j] + A) / l.truth.s.lo + l.bounds.w};
}

/// An absolute bound around y, then the rounding to the output format; infinity beyond its range.
Interval logarithm(const RowLimits& l, Dtype out, Enclosure y, double bound) {
  if (std::isinf(y.lo)) return {y.lo, y.hi};
  const double size = std::max(std::fabs(y.lo), std::fabs(y.hi)) + bound;
  const double radius = (bound + l.terms.u_out * size) * (1 + 0x1p-40) +
                        (l.terms.u_out > 0 ? l.terms.w_out : 0) + 4 * l.terms.flush;
  Interval i{y.lo - radius, y.hi + radius};
  const double overflow = max_finite(out) * (1 + 0.5 * unit_roundoff(out));
  if (i.lo <= -overflow) i.lo = -kInf;
  if (i.hi >= overflow) i.hi = kInf;
  return i;
}

}  // namespace

RowLimits limits_of(const Variant& variant, Op op, const Row& row, const Pick& pick) {
  RowLimits l;
  const Tensor logits = tensor_of({row});
  l.truth = row_truth(variant.dtype, logits.row(0), logits.V, variant.dtype, {.tier = Tier::fast});
  l.terms = terms_of(variant.claim, variant.backend, variant.out(), logits.V);
  PreparedRow prepared =
      prepare_row(variant.claim, l.terms, l.truth, op == Op::topk ? Op::softmax : op, pick);
  l.shift = std::move(prepared.own_shift);
  l.bounds = std::move(*prepared.bounds);
  const std::vector<double> logits_of_row = l.truth.x;
  if (prepared.own_terms) l.terms = *prepared.own_terms;
  if (prepared.own_truth) l.truth = std::move(*prepared.own_truth);
  l.outside = std::move(prepared.outside);
  if (l.outside.empty()) l.outside = outside_values(variant, l.truth.x);
  if (!l.outside.empty()) return l;
  if (logarithms(op)) {
    const LogBounds logs = log_bounds(l.terms, l.truth, l.bounds);
    if (op == Op::lse) {
      l.value = {logarithm(l, variant.out(), l.truth.lse, logs.lse)};
      return l;
    }
    const Enclosure log_sum = log_sum_truth(l.truth, l.bounds.epsilon);
    for (std::size_t j = 0; j < row.logits.size(); ++j) {
      const Enclosure y = log_prob_truth(l.truth, log_sum, static_cast<std::int64_t>(j));
      l.value.push_back(
          logarithm(l, variant.out(), y, logs.element(l.terms, y.lo, std::fabs(l.shift.delta[j]))));
    }
    return l;
  }
  for (std::size_t j = 0; j < l.truth.x.size(); ++j) l.value.push_back(probability(l, j));
  if (op != Op::topk_softmax) return l;
  // The slots of an equal logit have the same limits. What is not selected has none: no value is in them.
  const std::vector<Interval> slots = std::exchange(l.value, {});
  for (const double x : logits_of_row) {
    const auto at = std::find(l.truth.x.begin(), l.truth.x.end(), x) - l.truth.x.begin();
    l.value.push_back(static_cast<std::size_t>(at) < slots.size() ? slots[static_cast<std::size_t>(at)]
                                                                  : Interval{1, -1});
  }
  return l;
}

bool agree(double g, const Interval& of_g, double h, const Interval& of_h) {
  if (g == h) return true;
  return std::fabs(g - h) <= std::max(of_g.hi - of_h.lo, of_h.hi - of_g.lo);
}

std::string outside_limits(const Answer& answer, std::int64_t row, const RowLimits& limits) {
  const Problem& p = answer.problem;
  for (std::int64_t r = 0; r < p.out_columns(); ++r) {
    if (selects(p.op) && r >= p.V) break;
    const std::int64_t j = selects(p.op) ? answer.index(row, r) : r;
    if (j < 0 || j >= p.V) return fmt::format("slot {}: index {}", r, j);
    const Interval& i = limits.value[static_cast<std::size_t>(j)];
    const double g = answer.value(row, r);
    if (!i.contains(g)) return fmt::format("column {}: {:a} is outside [{:a}, {:a}]", j, g, i.lo, i.hi);
    const bool probability = probabilities(p.op);
    if (probability && (std::signbit(g) || !(g <= limits.bounds.range_top)))
      return fmt::format("column {}: {:a} is no probability", j, g);
  }
  return {};
}

/// A generated key, so that a counterexample names its key. It does not shrink.
struct Key {
  const Variant* variant;
};
void showValue(const Key& key, std::ostream& os) { os << key.variant->key(); }

const std::vector<VariantProperty>& variant_properties() {
  static const std::vector<VariantProperty> all = [] {
    std::vector<VariantProperty> p;
    for (const auto& some : {value_properties(), invariance_properties(), batch_properties(),
                             topk_properties(), set_properties()})
      p.insert(p.end(), some.begin(), some.end());
    return p;
  }();
  return all;
}

Outcome outcome_of(const VariantProperty& property, const std::vector<const Variant*>& keys,
                   const std::string& subject, bool shrink) {
  std::vector<const Variant*> those;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(those), [&](const Variant* v) {
    // Rows are generated as logits, so keys that read something else are left out.
    return not_plain_rows(*v, v->op).empty() && property.applies(*v);
  });
  if (those.empty())
    return {fmt::format("property {} of {}: it applies to no key", property.name, subject), ""};
  std::map<const Variant*, int> tried;
  const rc::Gen<Key> any_key = [&](const rc::Random& random, int) {
    Draw draw{random};
    return rc::shrinkable::just(Key{those[draw.below(those.size())]});
  };
  const Trial trial{property.name, subject, property.cases * static_cast<int>(those.size()),
                    property.must_appear, shrink};
  Outcome outcome = try_out(trial, [&] {
    const Variant& v = *(*any_key).variant;
    ++tried[&v];
    std::string fault;
    try {
      property.check(v);
    } catch (const std::runtime_error& e) {
      fault = e.what();
    }
    if (!fault.empty()) RC_FAIL(fault);
  });
  int fewest = trial.cases;
  for (const Variant* v : those) {
    fewest = std::min(fewest, tried[v]);
    if (tried[v] == 0 && outcome.failure.empty())
      outcome.failure =
          fmt::format("property {} of {}: key {} was never drawn", property.name, subject, v->key());
  }
  outcome.coverage += fmt::format(" {} keys, each in {} cases or more.", those.size(), fewest);
  return outcome;
}

bool is_finite_or_masked(const Row& row) {
  return !row.has(FloatClass::nan) && !row.has(FloatClass::positive_infinity) &&
         (row.has(FloatClass::zero) || row.has(FloatClass::subnormal) || row.has(FloatClass::normal));
}

rc::Gen<Row> variant_rows(std::vector<Structure> structures, Dtype format) {
  const rc::Gen<Row> usual = rows(structures, {format}, 200), large = rows(structures, {format}, 2100);
  return [=](const rc::Random& random, int size) {
    Draw draw{random};
    return draw.one_in(12) ? large(draw.random, 100) : usual(draw.random, size);
  };
}

int largest_k(const Variant& variant, const Row& row) {
  if (!selects(variant.op)) return 0;
  const auto V = static_cast<int>(row.logits.size());
  // More than twice V shows nothing new. Kernels select up to 256 in one way, more in another.
  return std::min(variant.max_k, variant.limits.k_up_to_V ? V : std::max(256, 2 * V));
}

Pick draw_pick(const Variant& variant, const Row& row) {
  if (!keeps_a_set(variant.op)) return draw_k(variant, row);
  const rc::Gen<double> threshold = [op = variant.op](const rc::Random& random, int) {
    Draw draw{random};
    const std::vector<Pick> usual = thresholds(op, true);
    return rc::shrinkable::just(draw.one_in(2) ? usual[draw.below(usual.size())].threshold
                                               : static_cast<double>(1 + draw.below(1000000)) / 1000000);
  };
  return of_threshold(*threshold);
}

int draw_k(const Variant& variant, const Row& row) {
  const int most = largest_k(variant, row);
  if (most == 0) return 0;
  const rc::Gen<int> k = [most](const rc::Random& random, int) {
    Draw draw{random};
    const int some = 1 + static_cast<int>(draw.below(10));
    return rc::shrinkable::just(draw.one_in(8) ? most : std::min(some, most));
  };
  return *k;
}

bool any_variant(const Variant&) { return true; }

}  // namespace assay
