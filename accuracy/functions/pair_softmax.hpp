// SPDX-License-Identifier: Apache-2.0
// Runs every pair of f16 logits as a two-element softmax through a variant: 2^32 rows on a GPU, a labelled
// sample through the host executor. A cheap judge passes what certainly passes. Every other row gets the full
// check of a row, up to MPFR.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/functions/pair_element.hpp"
#include "kernels/registry.hpp"

namespace assay {

struct PairResult : pairs::PairCounts {
  std::string key;
  std::string status;           // pass, fail, not_run
  std::string reason;           // of fail and not_run
  std::int64_t stride = 1;      // 1: every pair
  std::int64_t full_check = 0;  // rows that the cheap judge left open
  std::int64_t by_mpfr = 0;     // of those, rows that needed the MPFR tier
  std::int64_t failed = 0, undecided = 0;
  double ulp = -1;    // largest error
  std::string worst;  // "(x0, x1) gives (g0, g1)"
  double seconds = 0;
};

/// The stride of a host sample: 4,295 rows, which take the executor seconds.
inline constexpr std::int64_t kHostPairStride = 1'000'003;

/// The f16 softmax variants of the registry on a backend.
std::vector<const Variant*> pair_variants(Backend backend);

/// Runs every stride-th pair through the variant and judges it.
PairResult measure_pairs(const Variant& variant, std::int64_t stride, int threads = 0);

/// The cheap judge's constants for a variant's claim.
pairs::PairRules pair_rules(const Variant& variant);

/// The full check of one row; open means that the row fails or stays undecided.
pairs::PairVerdict judge_pair_fully(const Variant& variant, pairs::OpenPair row);

/// The device's half. `full_check` gets the open rows in batches, and returns whether to go on. Throws
/// std::runtime_error with CUDA's message.
pairs::PairStats sweep_pairs_on_device(
    const Variant& variant, const pairs::PairRules& rules, std::int64_t stride,
    const std::function<bool(std::span<const pairs::OpenPair>)>& full_check);

}  // namespace assay
