// SPDX-License-Identifier: Apache-2.0
#include "properties/variants/variant_properties.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <stdexcept>

#include "accuracy/case/case.hpp"
#include "accuracy/case/job.hpp"

namespace assay {

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
    return not_plain_rows(v->claim, v->op).empty() && property.applies(*v);
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
