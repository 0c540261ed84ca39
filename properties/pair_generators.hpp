// RapidCheck generators of normalizers (m, d).
#pragma once

#include <rapidcheck.h>

#include <vector>

#include "properties/algebra.hpp"

namespace assay {

/// any: all of the carrier. counts: m finite, 1 <= d <= 2^24, as sums of at most 2^24 exps are.
enum class Carrier { any, counts };

/// n pairs whose maxima are mostly close enough to matter to each other, with ties among them.
rc::Gen<std::vector<Pair>> pairs(int n, Carrier carrier);

}  // namespace assay
