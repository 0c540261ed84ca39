// How sharp a bound is: a search for the inputs that bring a kernel nearest to it. Families say how much of
// a bound typical rows use; hill climbing from them finds the largest share it can, which is published. A
// share above 1 would refute the theorem, the kernel's claim, or the oracle: the search stops and keeps it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// The checks that are searched, those that compare an error with a derived bound.
inline constexpr std::array<const char*, 4> kSearchedChecks = {"element", "coherence", "row_sum",
                                                               "normalizer"};

struct SearchOptions {
  std::vector<std::int64_t> sizes = {2, 33, 128, 1000, 4099};
  int evaluations = 400;  // rows tried for each check at each V, after the starts
  std::uint64_t seed = 1;
};

/// The largest share of one check's bound found at one V, and the row it was found on: a row whose outputs
/// are all normal numbers. A subnormal output reaches its bound, half the smallest subnormal, trivially.
struct SearchResult {
  std::string check;
  std::int64_t V = 0;
  double any = 0;                // the largest share on any row tried, subnormal outputs among them
  double start_utilisation = 0;  // the largest of the rows it started from
  double utilisation = 0;
  std::string start;                // what the row grew from: a family's name
  std::vector<std::uint64_t> bits;  // the logits, as stored
  std::string violation;            // empty, or which check failed and how: above 1
};

/// Empty where the variant can be searched, else why not.
std::string not_searched(const Variant& variant);

/// One result per V and check that judged anything, in that order. A function of the variant, the options and
/// nothing else: not of time, threads, or what was searched before. Stops at the first violation.
std::vector<SearchResult> search_utilisation(const Variant& variant, const SearchOptions& options);

/// The shares of one row alone, by check; negative where nothing was judged. `violation` as above.
struct RowShares {
  std::array<double, 4> share = {-1, -1, -1, -1};
  bool normal_outputs = false;  // no exp and no output is subnormal
  bool normal_terms = false;    // no exp is: all that (m, d) depend on
  std::string violation;
};
RowShares shares_of_row(const Variant& variant, const std::vector<std::uint64_t>& bits);

}  // namespace assay
