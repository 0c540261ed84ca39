// SPDX-License-Identifier: Apache-2.0
// The judge's own sanity: what a record says of one case must fit together, whoever wrote it.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "accuracy/record.hpp"

namespace assay {

/// Two things that this program found exclude each other, so that neither may be believed: its own memory,
/// its data or what a kernel says of itself was changed. No verdict is given: exit status 1.
struct Contradiction : std::runtime_error {
  explicit Contradiction(const std::string& what) : std::runtime_error("contradiction: " + what) {}
};

/// A share of a bound above this is no rounding of the share itself: a pass has none.
inline constexpr double kLargestShare = 1 + 1e-6;

/// True for a share that no case that passed can have.
constexpr bool beyond_bound(std::optional<double> share) { return share && *share > kLargestShare; }

/// Throws Contradiction, naming the case, if the record is a pass and a share of a bound is above 1, or a
/// check of it failed.
void require_sane(const Record& r);

}  // namespace assay
