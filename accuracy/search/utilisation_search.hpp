// SPDX-License-Identifier: Apache-2.0
// How sharp a bound is: a search for the inputs whose error comes nearest to the bound. Families show which
// share of a bound typical rows use. Hill climbing from these rows finds the largest share, which is
// published. A share above 1 would refute the theorem, the kernel's claim, or the oracle; then the search
// stops and keeps the row.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// The checks that are searched: those that compare an error with a derived bound.
inline constexpr std::array<const char*, 4> kSearchedChecks = {"element", "coherence", "row_sum",
                                                               "normalizer"};

struct SearchOptions {
  std::vector<std::int64_t> sizes = {2, 33, 128, 1000, 4099};
  int evaluations = 400;  // rows tried for each check and row length V, after the start rows
  std::uint64_t seed = 1;
};

/// The largest share of one check's bound that was found at one V, and the row that has it. Only rows whose
/// outputs are all normal count: a subnormal output reaches its bound, half the smallest subnormal,
/// trivially.
struct SearchResult {
  std::string check;
  std::int64_t V = 0;
  double any = 0;                // the largest share on any row tried, subnormal outputs included
  double start_utilisation = 0;  // the largest share of the start rows
  double utilisation = 0;
  std::string start;                // the family of the start row
  std::vector<std::uint64_t> bits;  // the logits, as stored
  std::string violation;            // not empty if the share is above 1: which check failed, and how
};

/// Empty, or why the variant cannot be searched.
std::string not_searched(const Variant& variant);

/// One result for each V and each check that judged anything, in that order. The result depends only on the
/// variant and the options, not on time, threads, or earlier searches. Stops at the first violation.
std::vector<SearchResult> search_utilisation(const Variant& variant, const SearchOptions& options);

/// The shares of one row, by check; negative if nothing was judged. `violation` as above.
struct RowShares {
  std::array<double, 4> share = {-1, -1, -1, -1};
  bool normal_outputs = false;  // no exp and no output is subnormal
  bool normal_terms = false;    // no exp is subnormal; (m, d) depend on nothing else
  std::string violation;
};
RowShares shares_of_row(const Variant& variant, const std::vector<std::uint64_t>& bits);

}  // namespace assay
