// A property of an algebra, and how it is checked: a fixed seed, a floor under what must have been tried.
#pragma once

#include <string>
#include <vector>

#include "properties/algebra.hpp"

namespace assay {

struct Property {
  const char* name;
  /// One random case; fails through RC_ASSERT.
  void (*check)(const Algebra& algebra);
  /// Cases, in units of RapidCheck's max_success (100).
  int cases;
  /// Tags (RC_CLASSIFY) that at least 1 in 100 cases must carry: the special cases were there.
  std::vector<std::string> must_appear;
};

/// Empty if the property holds. The seed is fixed, so runs are alike; RC_PARAMS="seed=N" gives another.
/// A failure says what was asserted, the shrunk counterexample and the seed.
std::string failure_of(const Property& property, const Algebra& algebra, bool shrink = true);

}  // namespace assay
