// SPDX-License-Identifier: Apache-2.0
// How a property is checked: random cases under a fixed seed, the coverage reported, and a minimum for the
// classes of input that must be tried.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

/// What is checked, on which algebra or kernel, and how often.
struct Trial {
  std::string property;
  std::string subject;
  int cases = 100;
  /// Tags (RC_CLASSIFY) that at least 1 in 100 cases must carry. A class of input that never appeared was not
  /// tested, whatever the result.
  std::vector<std::string> must_appear;
  bool shrink = true;
};

struct Outcome {
  /// Empty if the property holds. Otherwise its name, the failed assertion, the shrunk counterexample and the
  /// seed, or the class of input that was missing.
  std::string failure;
  /// One line: the share of cases that carried each tag.
  std::string coverage;
};

/// Runs the body, one random case that fails through RC_ASSERT, many times. The seed is fixed, so all runs
/// are alike; RC_PARAMS="seed=N" sets another.
Outcome try_out(const Trial& trial, const std::function<void()>& body);

/// A property of an algebra.
struct Property {
  const char* name;
  void (*check)(const Algebra& algebra);
  int cases;  // in hundreds
  std::vector<std::string> must_appear;
  /// Tags that must appear only if the algebra's format is f32.
  std::vector<std::string> must_appear_in_f32 = {};
};
Outcome outcome_of(const Property& property, const Algebra& algebra, bool shrink = true);

}  // namespace assay
