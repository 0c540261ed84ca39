// SPDX-License-Identifier: Apache-2.0
// How much of each bound the records use: the largest error / bound per class and check. If no family brings
// a bound near its limit, that bound would miss a wrong kernel: this is a defect of the bound.
#pragma once

#include <string>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// A bound that stays below this on every family tests nothing.
inline constexpr double kDefectOfBound = 1e-3;

/// "online, exp accurate, division ieee, f32 sums, f16 outputs": what decides the form of the bound.
/// Logarithms have their own classes.
std::string class_of(const KeyInfo& key);

struct ClassUtilisation {
  std::string backend, kind, check;  // kind: see class_of
  Extreme largest;
  std::int64_t judged = 0;  // number of comparisons
  /// Rounding hides the bound. If an f32 result is rounded to 16 bits at the end, elements and logarithms are
  /// judged by what rounds to them (VERDICT.md, section 2), so a right output hardly ever uses any of its
  /// bound. The same holds for 16-bit arithmetic, of which only a few rows can be judged.
  bool hidden = false;
};
/// All classes and checks that compared something, in the order of the keys.
std::vector<ClassUtilisation> class_utilisation(const std::vector<const KeyTally*>& keys);
std::vector<ClassUtilisation> class_utilisation(const ReportData& data);

}  // namespace assay
