// SPDX-License-Identifier: Apache-2.0
// Rules about cases: predicates that may separate the failing cases from the passing ones. The chosen rule
// does so in the fewest words. Internal to this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay::conformance {

enum class Pattern {
  everything,
  setup,
  base_alignment,
  pitch_of_outputs,
  pitch_of_logits,
  family_class,
  family,
  maximum_below,
  maximum_above,
  maximum_far,
  rows_above,
  rows_rest,
  columns_times_rows,
  k,
  single_V,
  V_from,
  V_to,
  V_rest,
  V_no_multiple,
  V_power_of_two,
  band,
};
constexpr bool about_V(Pattern p) { return p >= Pattern::single_V; }
constexpr bool about_setup(Pattern p) { return p >= Pattern::setup && p <= Pattern::pitch_of_logits; }
constexpr bool about_maximum(Pattern p) { return p >= Pattern::maximum_below && p <= Pattern::maximum_far; }
constexpr bool about_rows(Pattern p) { return p == Pattern::rows_above || p == Pattern::rows_rest; }

/// A rule, and for which of the cases it holds.
struct Rule {
  Pattern pattern = Pattern::everything;
  Pattern with = Pattern::everything;  // the other part of a rule with two clauses
  std::string words = "case";          // "V with V % 4 = 3"
  bool every = true;                   // of these, every one
  std::int64_t number = 0;             // the modulus or threshold
  int family_class = -1;               // index in family_classes()
  std::vector<bool> bad, good;         // which of the failing and the passing cases it holds for
  std::int64_t bad_in = 0, good_in = 0;
  /// The number of bits needed to state the rule and, given the rule, which cases fail. A rule that leaves
  /// failing cases for another rule also pays for that one.
  double bits = 0;
  std::string whole() const { return every ? "every " + words : words; }
  bool exact() const { return pattern != Pattern::everything && good_in == 0; }
};

/// Families with a common property that a kernel may handle wrongly.
struct FamilyClass {
  const char* words;   // "whose logits are all negative"
  const char* likely;  // "the running maximum does not start at -inf"
  trait::Set traits;   // a family of the class has any of these
  /// If true, a family of the class has none of the traits. Such a class holds most families, so the cases of
  /// most faults are in it.
  bool without = false;
  bool has(const std::string& family) const { return ((traits_of(family) & traits) != 0) != without; }
};
std::span<const FamilyClass> family_classes();

/// What a case varies in addition to its row length: its setup; for groups that launch several times, the
/// group.
Setup place_of(const Record& r);

/// Bytes from an aligned address to the case's first row.
std::int64_t base_of(const Record& r);
/// Bytes from row to row, in the logits or in the outputs, whichever is less aligned.
std::int64_t pitch_of(const Record& r);

using Cases = std::vector<const Record*>;

/// The rule with the fewest bits; "every case" if none is shorter. Neither list may be changed while the rule
/// is used; `bad` is not empty.
Rule shortest_rule(const Cases& bad, const Cases& good);

// The clauses that rules consist of: about the address of the rows, the family, the maximum, the number of
// rows, k and the row length V. Internal to this folder.

/// A set of cases, one bit for each.
class CaseSet {
 public:
  explicit CaseSet(std::size_t n) : words_((n + 63) / 64) {}
  void add(std::size_t i) { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  bool has(std::size_t i) const { return words_[i / 64] >> i % 64 & 1; }
  std::int64_t count() const {
    std::int64_t n = 0;
    for (const std::uint64_t w : words_) n += std::popcount(w);
    return n;
  }
  std::int64_t count_with(const CaseSet& other) const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) n += std::popcount(words_[i] & other.words_[i]);
    return n;
  }
  CaseSet with(const CaseSet& other) const {
    CaseSet both = *this;
    for (std::size_t i = 0; i < words_.size(); ++i) both.words_[i] &= other.words_[i];
    return both;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// One clause: a predicate on cases.
struct Clause {
  Pattern pattern;
  std::string words;  // without "every"
  std::int64_t number;
  double bits;
  int family_class;
  CaseSet bad, good;
  std::int64_t bad_in, good_in;
};

/// The clauses that hold for some of the cases and not for all.
std::vector<Clause> clauses_of(const Cases& bad, const Cases& good);

}  // namespace assay::conformance
