// SPDX-License-Identifier: Apache-2.0
// Plans for causal kernels: the cases of every group become squares (V rows of row length V). They are few
// enough that a check ends. Internal to this folder.
#pragma once

#include <cstdint>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// For a causal kernel: the number of rows of whole squares nearest to `rows`. If `rows` is more than one, at
/// least two squares while they are small. A whole number of squares stays as it is; so do the rows of any
/// other kernel.
std::int64_t whole_squares(const Variant& variant, std::int64_t V, std::int64_t rows);

/// Turns the cases of a causal kernel's group into squares; does nothing for other kernels. A case is left
/// out if it then equals another one, has more elements than a case may have, or if there are too many of its
/// size. In groups that launch the same rows again and again, shorter rows replace long ones. A case whose V
/// was asked for is never left out.
void make_squares(const Planning& p, const char* group, std::vector<Unit>& units);

/// Keeps as many of a report's large squares of each size as a quick check keeps. Every case names its
/// variant; those of kernels that are not causal all stay. Then a causal kernel takes about as long as
/// another. With as many as a whole check keeps, it took 16 % of a report's time on the host; with all 350,
/// 40 %.
void thin_squares(std::vector<Unit>& units);

}  // namespace assay::conformance
