// The variants once more, on the host executor, with every load and store counted: "accesses per element" as
// a measurement. The compiler reports each access of a kernel's code through the functions it would call in
// ThreadSanitizer's runtime (-fsanitize=thread); access_counter.cpp implements those instead. What the
// optimiser removed is not there to be counted, as on a GPU; caches and registers are none of its business.
//
// Included before a variant's source (kernels/CMakeLists.txt): the copy registers itself here, not in the
// registry.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// Bytes of one kind of buffer, summed over all threads of a launch.
struct AccessBytes {
  std::int64_t loaded = 0, stored = 0;
};

struct AccessCounts {
  AccessBytes logits, probs, indices, normalizer, workspace;
  /// Elements of any buffer, per element of the row: logits, probabilities, indices and (m, d) in their own
  /// types, a workspace in fp32 (what every variant here keeps in one).
  double loads = 0, stores = 0;
};

/// Variants whose accesses can be counted: the registry's host keys; empty in a build that leaves them out.
const std::vector<Variant>& counted_variants();
const Variant* find_counted(std::string_view key);

/// One launch of a counted variant on `logits` (dense rows in its dtype). Throws std::runtime_error with the
/// executor's words if the launch fails.
AccessCounts count_accesses(const Variant& counted, const Problem& problem,
                            std::span<const std::byte> logits);

/// What register_variant is for these copies: they are compiled with the one name defined as the other.
bool register_counted(Variant v);

namespace host_counted::backend_names {
inline constexpr Backend host_counted = Backend::host;
}

}  // namespace assay
