// SPDX-License-Identifier: Apache-2.0
// Rows of equal logits show how many terms a kernel adds: their sum d is the number of terms. Internal to
// this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

/// The cause, if nearly all rows of equal logits fail because the same number of terms is missing in their
/// sum, or is too much in it, whatever their length, and all outputs of a row show it. Empty otherwise: a
/// number that depends on the length is told by a rule about V.
std::string cause_of_lost_terms(const Cases& bad, const Cases& good);

/// The cause, if a record proves that a column is left out of the sum, or if all cases have one length and a
/// row of equal logits tells how many terms its sum lacks. Empty otherwise.
std::string cause_of_left_out(const Cases& bad);

/// "the sum is kept in f16: d = 2048 for 2049 equal logits", if the probe of the accumulator has refuted the
/// sum that was claimed, or that is taken for granted. Else empty.
std::string cause_of_narrow_sum(const std::vector<Record>& records);

// Rows that a launcher refuses because of their length: no fault of the kernel, but a limit that nobody
// declared. Internal to this folder.

/// The finding that says which limits to declare, with the cases of every group that they explain. Empty if
/// the launcher's errors do not depend on the row length V alone.
std::optional<Finding> refused_lengths(const std::vector<Record>& records);

}  // namespace assay::conformance
