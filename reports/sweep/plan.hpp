// SPDX-License-Identifier: Apache-2.0
// Which configurations a sweep times, and in which order: the most important first, so that a limited budget
// covers them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/sweep/subjects.hpp"

namespace assay {

enum class SweepSet { quick, published, full };

/// An empty list means all that the set has.
struct SweepSelection {
  SweepSet set = SweepSet::published;
  std::vector<std::string> keys;  // patterns; empty: every @cuda key
  std::vector<std::string> dtypes;
  std::vector<std::int64_t> sizes, rows;
  std::vector<std::int64_t> k;
  std::vector<double> thresholds;
  bool host = false;  // includes @host keys
  /// Kernels that have no key, such as those of a file. They must outlive the plan.
  std::vector<const Subject*> others = {};
};

struct SweepJob {
  const Subject* subject = nullptr;
  std::int64_t rows = 0, V = 0;
  Pick pick = {};
};

/// Throws InputError for a key that matches nothing, an unknown dtype, an impossible V, rows or k, or an
/// empty plan of kernels that have keys. Peers that cannot be called here are planned only if they are named;
/// `missing` (may be null) gets a line for each of the others.
std::vector<SweepJob> make_sweep_plan(const SweepSelection& selection,
                                      std::vector<std::string>* missing = nullptr);

}  // namespace assay
