// SPDX-License-Identifier: Apache-2.0
// How sharp a bound is: the search for the inputs whose error comes nearest to the bound. Families show which
// share of a bound typical rows use; this search finds the largest share, which is published. A share above 1
// would refute the theorem, the kernel's claim, or the oracle; then the search stops and keeps the row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/search/search.hpp"

namespace assay::fuzz {

struct ShareOptions {
  std::vector<std::int64_t> sizes = {2, 33, 128, 1000, 4099};
  int evaluations = 400;  // rows tried for each check and row length V, after the first ones
  std::uint64_t seed = 1;
};

/// The largest share of one check's bound that was found at one V, and the row that has it. Only rows whose
/// outputs are all normal count: a subnormal output reaches its bound, half the smallest subnormal,
/// trivially.
struct LargestShare {
  std::string check;
  std::int64_t V = 0;
  double any = 0;                // the largest share on any row tried, subnormal outputs included
  double start_utilisation = 0;  // the largest share of the first rows, which no other row led to
  double utilisation = 0;
  std::string start = {};                // the family of that first row
  std::vector<std::uint64_t> bits = {};  // the logits, as stored
  std::string violation = {};            // not empty if the share is above 1: which check failed, and how
};

/// Empty, or why the variant cannot be searched.
std::string not_searched(const Variant& variant);

/// One result for each V and each check that judged anything, in that order. The result depends only on the
/// variant and the options, not on time, threads, or earlier searches. Stops at the first violation.
std::vector<LargestShare> largest_shares(const Variant& variant, const ShareOptions& options);

}  // namespace assay::fuzz
