// How a property is checked: random cases under a fixed seed, with a floor under what must have been tried
// and the coverage told.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

/// What is checked, on whom, how often.
struct Trial {
  std::string property;
  std::string subject;
  int cases = 100;
  /// Tags (RC_CLASSIFY) that at least 1 in 100 cases must carry: a class of input that never appeared was not
  /// tested, whatever the result.
  std::vector<std::string> must_appear;
  bool shrink = true;
};

struct Outcome {
  /// Empty if the property holds; else its name, what was asserted, the shrunk counterexample and the seed,
  /// or the class of input that was missing.
  std::string failure;
  /// One line: the share of the cases that carried each tag.
  std::string coverage;
};

/// Runs the body, one random case that fails through RC_ASSERT. The seed is fixed, so runs are alike;
/// RC_PARAMS="seed=N" gives another.
Outcome try_out(const Trial& trial, const std::function<void()>& body);

/// A property of an algebra.
struct Property {
  const char* name;
  void (*check)(const Algebra& algebra);
  int cases;  // in hundreds
  std::vector<std::string> must_appear;
  /// Tags that must appear where the algebra's format is f32 alone.
  std::vector<std::string> must_appear_in_f32 = {};
};
Outcome outcome_of(const Property& property, const Algebra& algebra, bool shrink = true);

}  // namespace assay
