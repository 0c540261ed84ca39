// SPDX-License-Identifier: Apache-2.0
// Operands that change no result, for launches that test something else.
#pragma once

#include "kernels/candidate.hpp"

namespace assay {

/// Creates the images of the problem's operands so that nothing is left out, added or divided. `guard`: bytes
/// of guard band on either side.
void add_neutral_operands(Images& images, const Problem& problem, std::size_t guard);

}  // namespace assay
