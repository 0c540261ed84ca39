// SPDX-License-Identifier: Apache-2.0
// New cases for `assay verify`: like certified ones, with inputs that nobody could know before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "reports/cli/adopt/case_runner.hpp"

namespace assay {

/// Runs a case of the same group, op and number of rows as `like`, with inputs of this seed. The row length
/// of every other one (by `number`) is drawn too, near that of `like` and within the limits of the
/// certificate. Rows that no seed changes become normal ones. Empty if the group plans no such case.
std::optional<Record> new_case(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                               const Certificate& c, const CaseRunner& place);

/// True if the record contradicts a certificate of a right kernel.
bool is_wrong(const Record& r);
/// Of such a record: the check that failed, and its words.
std::string why_wrong(const Record& r);

}  // namespace assay
