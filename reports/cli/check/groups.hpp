// Groups of `assay check` that stand above accuracy/: they need the properties, or a second copy of this
// program.
#pragma once

#include <cstdint>
#include <string>

#include "accuracy/conformance/conformance.hpp"

namespace assay {

/// Random inputs and their images: shifted, permuted, split, in other batches
/// (properties/variants/variant_properties.hpp).
conformance::Group properties_group();

/// The seed of `properties`, where the environment's RC_PARAMS does not choose one; RapidCheck, which tells
/// stderr of any that is not its own, is told without a word. Before the first property runs.
void seed_properties(std::uint64_t seed);

/// The layouts again, under each tool of compute-sanitizer; only when asked for.
conformance::Group sanitize_group();

/// Launches in a process that ThreadSanitizer or racecheck watches.
conformance::Group races_group();
/// Racecheck of a source file on a GPU begins here and works beside what follows: half a minute that the group
/// `races` does not wait for. `target`: the words after `assay check`.
void begin_races(const Variant& variant, const std::string& target, std::uint64_t seed);

}  // namespace assay
