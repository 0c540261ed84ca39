// What usually stands behind a pattern of failing cases: the predicates of the diagnosis, and the sentence
// that a pattern, its checks and its inputs suggest. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "accuracy/conformance/diagnosis.hpp"

namespace assay::conformance {

enum class Pattern {
  everything,
  setup,
  family_class,
  family,
  rows_above,
  single_V,
  V_from,
  V_to,
  V_rest,
  V_no_multiple,
  band,
};

struct Predicate {
  Pattern pattern = Pattern::everything;
  std::string words;  // "every V with V % 4 = 3"
  std::function<bool(const Record&)> holds;
  std::int64_t number = 0;             // the modulus or threshold
  Pattern with = Pattern::everything;  // of a pair, the part that is not about V
};

/// Families that share what a kernel may trip over.
struct FamilyClass {
  const char* words;   // "whose logits are all negative"
  const char* likely;  // "the running maximum does not start at -inf"
  bool (*has)(const std::string& family);
};
std::span<const FamilyClass> family_classes();

/// "offset_6" is an "offset_", "pitch_both" a "pitch_".
std::string setup_kind(const std::string& setup);

/// The first failed check in the order of Check; the status where the case did not fail.
std::string primary_check(const Record& r);

bool has_evidence(const Record& r, const char* what);

/// One clause, or nothing: a pattern that names no cause gets none. `p` may be null.
std::string likely_cause(const Finding& f, const Predicate* p);

}  // namespace assay::conformance
