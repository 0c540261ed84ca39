// SPDX-License-Identifier: Apache-2.0
// What of a certificate follows from its other members, so that nobody can change the one alone.
#pragma once

#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"

namespace assay {

/// One line for each member that others contradict: the steps that there are, seeds, extent and groups, what
/// was not proved, the checks that each kernel must have, where it ran, the environment. Nothing runs for
/// that.
std::vector<std::string> not_following(const Certificate& c);

/// A line for each of `lines` that `not_proved` does not have.
std::vector<std::string> left_out_of_not_proved(const Certificate& c, const std::vector<std::string>& lines);

}  // namespace assay
