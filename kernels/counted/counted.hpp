// SPDX-License-Identifier: Apache-2.0
// The variants compiled again for the host executor with every load and store counted: this measures accesses
// per element. With -fsanitize=thread the compiler calls functions of ThreadSanitizer's runtime for each
// access; access_counter.cpp implements these functions instead. Accesses that the optimiser removed are not
// counted, as on a GPU. Caches and registers play no part.
//
// This header is included before a variant's source (kernels/CMakeLists.txt), so that the copy registers
// itself here and not in the registry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Bytes loaded from and stored to one kind of buffer, summed over all threads of a launch.
struct AccessBytes {
  std::int64_t loaded = 0, stored = 0;
};

struct AccessCounts {
  AccessBytes logits, probs, indices, normalizer, workspace;
  /// Accessed elements of all buffers, per element of the row. Logits, probabilities, indices and (m, d)
  /// count in their own types, the workspace in fp32 (all variants here keep fp32 in it).
  double loads = 0, stores = 0;
};

/// The variants whose accesses can be counted: those with a host key. Empty in a build without this.
const std::vector<Variant>& counted_variants();
const Variant* find_counted(std::string_view key);

/// A k or a threshold with which an op takes few elements of a row of normal logits: what a claim of accesses
/// is for.
constexpr Pick pick_of_few(Op op) {
  return op == Op::min_p ? of_threshold(0.9) : op == Op::top_p ? of_threshold(0.01) : usual_pick(op);
}

/// Launches a counted variant once on `logits` (dense rows in its dtype). Throws std::runtime_error with the
/// executor's text if the launch fails.
AccessCounts count_accesses(const Variant& counted, const Problem& problem,
                            std::span<const std::byte> logits);

/// Replaces register_variant in these copies: they are compiled with that name defined as this one.
bool register_counted(Variant v);

namespace host_counted::backend_names {
inline constexpr Backend host_counted = Backend::host;
}

}  // namespace assay
