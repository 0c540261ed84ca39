// SPDX-License-Identifier: Apache-2.0
// The clauses that rules consist of: about the address of the rows, the family, the maximum, the number of
// rows, k and the row length V. Internal to this folder.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

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
