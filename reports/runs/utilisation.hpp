// How much of each bound the records use: the largest error/bound per class and check. A bound that no
// family ever brings near its limit would not notice a wrong kernel: that is a defect of the bound.
#pragma once

#include <string>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/data/tally.hpp"

namespace assay {

/// The checks that compare an error with a derived bound.
inline constexpr const char* kBoundChecks[] = {"element", "coherence", "row_sum", "normalizer"};

/// Under this on every family, a bound tests nothing.
inline constexpr double kDefectOfBound = 1e-3;

/// "online, exp accurate, division ieee, f32 sums, f16 outputs": what decides the form of the bound. The
/// logarithms have their own.
std::string class_of(const KeyInfo& key);

struct ClassUtilisation {
  std::string backend, kind, check;  // kind: class_of
  Extreme largest;
  std::int64_t judged = 0;  // comparisons
};
/// Where an f32 result is rounded to 16 bits at the end, elements and logarithms are held by what rounds to them
/// (VERDICT.md, section 2): a right output hardly ever shows any of its bound. Nor do the few rows on which
/// arithmetic in 16 bits can be judged at all.
bool hidden_by_rounding(const ClassUtilisation& u);
/// Every class and check that compared something, in the order of the keys.
std::vector<ClassUtilisation> class_utilisation(const ReportData& data);

}  // namespace assay
