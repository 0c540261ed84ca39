// Truth in the log domain, from a row's enclosures: ln s and the log-probabilities d_j - ln s.
#pragma once

#include <cstdint>

#include "reference/oracle/oracle.hpp"

namespace assay {

/// Contains ln s of a finite or masked row. Narrow also where s is next to 1: s is then 1 plus the other
/// terms, whose probabilities are known to double's relative precision. `more`: what the row's s has besides
/// its terms, epsilon.
Enclosure log_sum_truth(const RowTruth& row, double more = 0);

/// Contains ln p_j = d_j - ln s; {-inf, -inf} for a logit of -inf.
Enclosure log_prob_truth(const RowTruth& row, const Enclosure& log_sum, std::int64_t j);

}  // namespace assay
