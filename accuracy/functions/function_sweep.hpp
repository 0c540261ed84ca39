// SPDX-License-Identifier: Apache-2.0
// The exhaustive sweep of one function under test: every argument, or every stride-th, which is labelled as
// sampled. Results are judged by the fast tier, and by MPFR where that does not decide; then the errors are
// compared with what is declared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/functions/function_stats.hpp"
#include "accuracy/functions/functions.hpp"

namespace assay::functions {

struct SweepOptions {
  std::int64_t stride = 1;  // 1: exhaustive
  int threads = 0;          // host; 0: one per core
};

/// The rules of a function: its format, its declared limits, where its arguments come from.
Rules rules_of(const Function& f);

/// Number of places of a function's space: 2^32, 2^16, or the square of the list.
std::int64_t places_of(const Rules& r);

/// The sorted list of a grid, 2^14 values: every exponent, subnormals and both signs. The mantissas are at
/// and next to powers of two, at both ends and between them.
const std::vector<float>& grid_values();

/// The stride that is used: 1 for the single arguments of a 16-bit format, because there is nothing to save.
std::int64_t effective_stride(const Rules& r, std::int64_t stride);

/// The ranges that a sweep visits: all places, or every stride-th and the places around special arguments.
std::vector<Range> ranges_of(const Rules& r, std::int64_t stride);

struct SweepOutcome {
  Stats stats;
  std::int64_t decided_by_mpfr = 0;
  std::int64_t undecided = 0;  // MPFR did not decide, or there were too many to keep
  double seconds = 0;
  std::string fault;  // the error message if the sweep did not finish
};

SweepOutcome sweep(const Function& f, const SweepOptions& options);

/// The device's half. Undecided values are appended to `left`.
SweepOutcome sweep_on_device(const Function& f, Rules rules, const std::vector<Range>& ranges,
                             std::vector<Undecided>& left);

/// Judges one value by MPFR; `decided` is false if 4096 bits are not enough.
Judged decide_by_mpfr(const Rules& r, const Sample& x);

/// The sample at a place, with a known result.
Sample sample_at(const Rules& r, std::int64_t place, std::uint32_t got);

}  // namespace assay::functions
