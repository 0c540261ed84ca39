// SPDX-License-Identifier: Apache-2.0
// Colour of verdicts on a terminal.
#pragma once

#include <string>

namespace assay {

/// Whether what is written to `descriptor` may have colour: it is a terminal, and neither NO_COLOR
/// (no-color.org) nor TERM=dumb says otherwise.
bool wants_colour(int descriptor);

/// The text with the verdict that begins a line in colour: PASS green, FAIL red, every other one yellow.
std::string coloured(const std::string& text);

/// Prints to standard output; in colour where wants_colour.
void print_verdict(const std::string& text);

}  // namespace assay
