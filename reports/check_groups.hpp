// Groups of `assay check` that stand above accuracy/: they need the properties, or a second copy of this
// program.
#pragma once

#include "accuracy/conformance/conformance.hpp"

namespace assay {

/// Random inputs and their images: shifted, permuted, split, in other batches
/// (properties/variant_properties.hpp).
conformance::Group properties_group();

/// The layouts again, under each tool of compute-sanitizer; only when asked for.
conformance::Group sanitize_group();

/// A launch in a process that ThreadSanitizer watches.
conformance::Group races_group();

}  // namespace assay
