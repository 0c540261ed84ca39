// SPDX-License-Identifier: Apache-2.0
// Rows of equal logits show how many terms a kernel adds: their sum d is the number of terms. Internal to
// this folder.
#pragma once

#include <string>

#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {

/// The cause, if nearly all rows of equal logits fail because the same number of terms is missing in their
/// sum, or is too much in it, whatever their length, and all outputs of a row show it. Empty otherwise: a
/// number that depends on the length is told by a rule about V.
std::string cause_of_lost_terms(const Cases& bad, const Cases& good);

/// "the sum is kept in f16: d = 2048 for 2049 equal logits", if the probe of the accumulator has refuted the
/// sum that was claimed, or that is taken for granted. Else empty.
std::string cause_of_narrow_sum(const std::vector<Record>& records);

}  // namespace assay::conformance
