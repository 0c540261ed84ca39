// Rows that a launcher refuses by their length: no fault of a kernel, but a limit that nobody declared.
// Internal to this folder.
#pragma once

#include <optional>
#include <vector>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"

namespace assay::conformance {

/// The finding that says which limits to declare, with the cases of every group that it explains; none where
/// the launcher's errors are no matter of V alone.
std::optional<Finding> refused_lengths(const std::vector<Record>& records);

}  // namespace assay::conformance
