// SPDX-License-Identifier: Apache-2.0
// What every variant promises, as properties of a registry key. Its outputs stay within its bound, and
// related inputs give related outputs, bit for bit or within both bounds.
#pragma once

#include <string>
#include <vector>

#include "properties/property.hpp"
#include "properties/variants/variant_run.hpp"

namespace assay {

struct VariantProperty {
  const char* name;
  bool (*applies)(const Variant& variant);
  /// One random case; fails through RC_ASSERT or RC_FAIL.
  void (*check)(const Variant& variant);
  int cases;  // per key
  std::vector<std::string> must_appear;
};

/// All properties, from the files beside this one.
const std::vector<VariantProperty>& variant_properties();
std::vector<VariantProperty> value_properties();       // one row: bound, order, sum, counts, special values
std::vector<VariantProperty> invariance_properties();  // a row and a changed one: shift, order, -inf, split
std::vector<VariantProperty> batch_properties();       // a row among others, in place, under other schedules
std::vector<VariantProperty> topk_properties();        // selection
std::vector<VariantProperty> set_properties();         // min_p, top_p

/// Draws the key together with the case, so the coverage is over all keys. Every key must appear.
Outcome outcome_of(const VariantProperty& property, const std::vector<const Variant*>& keys,
                   const std::string& subject, bool shrink = true);

// Shared by the properties.

bool is_finite_or_masked(const Row& row);
/// Mostly up to 200 logits; 1 row in 12 has up to 2100.
rc::Gen<Row> variant_rows(std::vector<Structure> structures, Dtype format);
/// The largest k that the variant takes on this row; 0 for ops without k.
int largest_k(const Variant& variant, const Row& row);
/// A random threshold for a variant that has one, and draw_k for others.
Pick draw_pick(const Variant& variant, const Row& row);
/// A random k for this variant: small, its largest, or more than the row has. 0 for ops without k.
int draw_k(const Variant& variant, const Row& row);
bool any_variant(const Variant& variant);

}  // namespace assay
