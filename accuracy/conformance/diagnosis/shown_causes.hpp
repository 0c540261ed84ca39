// SPDX-License-Identifier: Apache-2.0
// Causes that single records show, where no exact rule says what many of them have in common. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"

namespace assay::conformance {

/// If rows at the end of a page are read beyond their end: that cause, with the address of the first. Empty
/// if the finding has no such case, or begins with one, whose words then say it.
std::string cause_of_reads_beyond(const Finding& f);

/// The first case in which a log-softmax is -inf far below the maximum, where its value is finite; null if
/// there is none.
const Record* underflowed_log(const Finding& f);
inline constexpr const char* kUnderflowedLog =
    "the logarithm is taken of a probability that underflowed to 0: log-softmax should be x - m - log(sum)";

/// The first row that was never written, if it is the same one in all cases that tell it.
std::optional<std::int64_t> first_row_unwritten(const Finding& f);

}  // namespace assay::conformance
