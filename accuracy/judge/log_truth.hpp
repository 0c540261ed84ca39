// SPDX-License-Identifier: Apache-2.0
// The exact results in the log domain, computed from a row's enclosures: ln s and the log-probabilities d_j -
// ln s.
#pragma once

#include <cstdint>

#include "reference/oracle/oracle.hpp"

namespace assay {

/// An enclosure of ln s of a finite or masked row. It is narrow even where s is close to 1: there s is 1 plus
/// the other terms, and their probabilities are known to double's relative precision. `more`: what is added
/// to the terms in the row's s, that is epsilon.
Enclosure log_sum_truth(const RowTruth& row, double more = 0);

/// An enclosure of ln p_j = d_j - ln s; {-inf, -inf} for a logit of -inf.
Enclosure log_prob_truth(const RowTruth& row, const Enclosure& log_sum, std::int64_t j);

}  // namespace assay
