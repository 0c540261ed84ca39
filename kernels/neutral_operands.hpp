// Operands that change nothing, for launches that are about something else.
#pragma once

#include "kernels/candidate.hpp"

namespace assay {

/// Makes images of what the problem's operands hold: nothing is left out, added or divided by. `guard`: bytes on
/// either side.
void add_neutral_operands(Images& images, const Problem& problem, std::size_t guard);

}  // namespace assay
