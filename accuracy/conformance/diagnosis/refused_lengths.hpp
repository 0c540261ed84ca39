// SPDX-License-Identifier: Apache-2.0
// Rows that a launcher refuses because of their length: no fault of the kernel, but a limit that nobody
// declared. Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"

namespace assay::conformance {

/// The finding that says which limits to declare, with the cases of every group that they explain. Empty if
/// the launcher's errors do not depend on the row length V alone.
std::optional<Finding> refused_lengths(const std::vector<Record>& records);

}  // namespace assay::conformance
