// SPDX-License-Identifier: Apache-2.0
// Groups of `assay check` that cannot be in accuracy/, because they need the properties or a second process
// of this program.
#pragma once

#include <cstdint>
#include <string>

#include "accuracy/conformance/conformance.hpp"

namespace assay {

/// Random inputs and related ones: shifted, permuted, split, in other batches
/// (properties/variants/variant_properties.hpp).
conformance::Group properties_group();

/// Sets the seed of `properties`, unless RC_PARAMS in the environment sets one. RapidCheck prints any seed
/// but its own to stderr; here it prints nothing. Call before the first property runs.
void seed_properties(std::uint64_t seed);

/// The layouts again under each tool of compute-sanitizer. Runs only on request.
conformance::Group sanitize_group();

/// Launches in a process that ThreadSanitizer or racecheck monitors.
conformance::Group races_group();
/// Starts racecheck for a source file on a GPU. It runs beside the cases that follow, so that the group
/// `races` need not wait for it. `target`: the words after `assay check`. With other words than before it
/// begins anew: within the limits that were found.
void begin_races(const Variant& variant, const std::string& target, std::uint64_t seed);
/// Ends what `races` began and did not wait for: the kernel hangs, and would under the tool.
void end_races();

}  // namespace assay
