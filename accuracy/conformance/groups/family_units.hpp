// SPDX-License-Identifier: Apache-2.0
// The group `families`: units of (family, V, rows), where V is the row length, with the cases of every kernel
// that takes their dtype. The callers choose what is tried: `assay check` (families.cpp) and `assay report`
// (reports/runs/plan.cpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// What is tried.
struct FamilyLists {
  std::vector<std::string> families;  // of reference/, or a name that stands for a file of logits
  std::function<std::vector<std::int64_t>(const std::string& family, Dtype dtype)> sizes;
  /// Called only if the family has rows of row length V.
  std::function<std::vector<std::int64_t>(const std::string& family, Dtype dtype, std::int64_t V)> rows;
  /// Called only for an op that has a k or a threshold.
  std::function<std::vector<Pick>(const Variant& variant, const std::string& family, std::int64_t V)> picks;
  std::optional<Op> op;  // each variant's own by default
};

/// One unit for each dtype, family, V and number of rows, in that order; it has a case for each variant and
/// k. These cases share inputs and exact results. They point to their variants, which must outlive the run.
std::vector<Unit> family_units(std::span<const Variant* const> variants, const FamilyLists& lists);

/// The unit of a kernel's probes, as a case of family `probe`.
Unit probe_unit(const ConformanceCase& c);

}  // namespace assay::conformance
