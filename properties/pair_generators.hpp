// SPDX-License-Identifier: Apache-2.0
// RapidCheck generators of normalizers (m, d).
#pragma once

#include <rapidcheck.h>

#include <vector>

#include "properties/algebra.hpp"

namespace assay {

/// any: every valid normalizer. counts: m finite and 1 <= d <= 2^p, as a sum of at most 2^p exps has; p is
/// the precision of the format (f32 24, f16 11, bf16 8).
enum class Carrier { any, counts };

/// n pairs of values of the format. Most maxima are close enough to affect each other, and some tie.
rc::Gen<std::vector<Pair>> pairs(int n, Carrier carrier, Dtype format);

}  // namespace assay
