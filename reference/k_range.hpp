// SPDX-License-Identifier: Apache-2.0
// Which k, or threshold, may be asked for.
#pragma once

#include <optional>
#include <string>

#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace assay {

/// Empty if the number may be `n`; otherwise what it has to be.
inline std::string why_not(const SizeInfo& s, double n) {
  if (n >= s.least && n <= s.most) return {};
  return "must be " + text_of_number(s.least) + " to " + text_of_number(s.most);
}

/// Empty if a problem of this op can have this pick; otherwise a sentence: "k 0: must be 1 to 1048576".
inline std::string why_not(Op op, const Pick& pick) {
  std::string sentence;
  const CaseShape asked = shape_of(0, 0, pick);
  each_size(info(op).sizes, asked, [&](const SizeInfo& s, auto n) {
    if (of_inputs(s) || !s.in_use) return;
    if (const std::string why = why_not(s, static_cast<double>(n)); !why.empty())
      sentence = std::string(s.name) + " " + text_of_number(n) + ": " + why;
  });
  return sentence;
}

/// What the options --k and --threshold ask for.
struct AskedPick {
  std::optional<int> k = {};
  std::optional<double> threshold = {};

  bool any() const { return k || threshold; }
  bool is(const Pick& p) const { return (!k || *k == p.k) && (!threshold || *threshold == p.threshold); }
  /// What it asks of an op, or `usual` where it asks for nothing that the op has. Throws InputError for what
  /// no op can have, and for a k of an op that has a threshold.
  Pick of(Op op, const Pick& usual) const {
    if (k) require("--k ", kSelectedSizes[2], *k);
    if (threshold) require("--threshold ", kKeptSizes[2], *threshold);
    if (keeps_a_set(op) && k && !threshold)
      throw InputError("--k " + std::to_string(*k) + ": " + name(op) + " has a threshold: --threshold " +
                       text_of_number(of_old_k(op, *k).threshold) + " is " + std::to_string(*k) +
                       " millionths");
    if (keeps_a_set(op) && threshold) return of_threshold(*threshold);
    return selects(op) && k ? Pick(*k) : usual;
  }
  /// The same for one of several kernels, at least one of which may have such a number: each takes what it
  /// has.
  Pick of_one(Op op, const Pick& usual) const {
    return keeps_a_set(op) && !threshold ? usual : of(op, usual);
  }

 private:
  template <class Number>
  static void require(const char* option, const SizeInfo& s, Number n) {
    if (const std::string why = why_not(s, static_cast<double>(n)); !why.empty())
      throw InputError(option + text_of_number(n) + ": " + why);
  }
};

}  // namespace assay
