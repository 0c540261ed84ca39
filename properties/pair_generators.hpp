// RapidCheck generators of normalizers (m, d).
#pragma once

#include <rapidcheck.h>

#include <vector>

#include "properties/algebra.hpp"

namespace assay {

/// any: all of the carrier. counts: m finite, 1 <= d <= 2^p, as sums of at most 2^p exps are, p the precision
/// of the format (24, f16 11, bf16 8).
enum class Carrier { any, counts };

/// n pairs of values of the format, whose maxima are mostly close enough to matter to each other, with ties
/// among them.
rc::Gen<std::vector<Pair>> pairs(int n, Carrier carrier, Dtype format);

}  // namespace assay
