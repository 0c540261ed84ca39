// SPDX-License-Identifier: Apache-2.0
// Which k, or threshold, may be asked for.
#pragma once

#include <cstdint>
#include <string>

#include "reference/error.hpp"
#include "reference/problem.hpp"

namespace assay {

inline constexpr std::int64_t kMostK = std::int64_t{1} << 20;

/// Empty if a problem of this op can have this k or threshold; otherwise what it has to be.
inline std::string why_not_k(Op op, std::int64_t k) {
  if (keeps_a_set(op) && (k < 1 || k > kMillion)) return "the threshold in millionths is 1 to 1000000";
  if (k < 1 || k > kMostK) return "must be 1 to " + std::to_string(kMostK);
  return {};
}

/// Throws InputError if the option --k cannot be `k`.
inline void require_k(Op op, std::int64_t k) {
  if (const std::string why = why_not_k(op, k); !why.empty())
    throw InputError("--k " + std::to_string(k) + ": " + why);
}

}  // namespace assay
