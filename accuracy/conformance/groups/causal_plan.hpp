// Plans for causal kernels: every group's cases become squares, few enough that a check ends. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// Of a causal kernel the rows of whole squares, nearest to so many; of more than one row at least two
/// squares, where they are small. What is whole already stays as it is, and so do the rows of any other
/// kernel.
std::int64_t whole_squares(const Variant& variant, std::int64_t V, std::int64_t rows);

/// Makes squares of the cases of a causal kernel's group; does nothing to another's. Cases that are the same
/// then, have more elements than a case may have, or are too many of a size, are left out. Shorter rows stand
/// for long ones in groups that launch the same rows again and again. A case whose V is asked for is never
/// left out.
void make_squares(const Planning& p, const char* group, std::vector<Unit>& units);

}  // namespace assay::conformance
