// SPDX-License-Identifier: Apache-2.0
// Launches that the contract search makes itself: is a launch with this number of rows, this row length V and
// this k accepted or refused? What the records of a run already show is not launched again. Internal to this
// folder.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/record.hpp"
#include "kernels/registry.hpp"

namespace assay::conformance {

class Trials {
 public:
  /// taken: it ran and was not refused, whether its outputs are right or wrong. unknown: it is outside what
  /// is declared, hung, was lost, or was refused for its address.
  enum class Answer { taken, refused, unknown };

  /// Learns from the records of the groups `shapes` and `rows`, whose rows are dense and aligned. The variant
  /// must outlive this object.
  Trials(const Variant& variant, const std::vector<Record>& records);

  Answer at(const CaseShape& size);
  /// The size that is launched when this one is asked for. It differs for a causal kernel, which gets
  /// squares.
  CaseShape launched_as(CaseShape size) const;
  bool squares() const { return variant_.claim.causal != Causal::no; }
  bool takes(const CaseShape& size) { return at(size) == Answer::taken; }
  /// What the kernel reported when it refused.
  const std::string& said(const CaseShape& size) const { return known_.at(launched_as(size)).said; }

  /// The k that the groups use at this length.
  int usual_k(std::int64_t V) const;
  /// An accepted size with a round length and few rows; empty if every launch was refused.
  std::optional<CaseShape> known_good();
  /// Everything that is known: sizes and answers.
  struct Known {
    Answer answer = Answer::unknown;
    std::string said = {};
  };
  const std::map<CaseShape, Known>& known() const { return known_; }

 private:
  Known launched(const CaseShape& size) const;

  const Variant& variant_;
  std::map<CaseShape, Known> known_;
};

// Limits on the sizes of a launch, for one axis at a time: the number of rows, the row length V, or k. One of
// them varies, and the other two stay at values where the kernel is known to run. Internal to this folder.

/// Says whether a limit (a word of a declaration) may be looked for.
using May = std::function<bool(const char* word)>;

/// Limits on the number of rows, at one row length.
std::vector<FoundLimit> rows_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// Limits on the row length, at one number of rows.
std::vector<FoundLimit> length_limits(Trials& trials, const std::vector<Record>& records, const May& may);
/// The largest k, at one size: every k from 1 up to it is accepted.
std::vector<FoundLimit> k_limits(Trials& trials, const Variant& variant, const std::vector<Record>& records,
                                 const May& may);

}  // namespace assay::conformance
