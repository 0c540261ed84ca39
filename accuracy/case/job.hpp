// SPDX-License-Identifier: Apache-2.0
// One job is one kernel on inputs of one size: the problem that the kernel gets, and the record to start
// from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/registry.hpp"

namespace assay {

/// The problem of one job. Rows are `pitch` elements apart; so are the rows of outputs that have V columns,
/// where V is the row length.
Problem problem_of(const Variant& variant, Op op, std::int64_t rows, std::int64_t V, const Pick& pick,
                   std::int64_t pitch);

/// The thresholds with which op min_p or top_p is tried: the usual one; if `more`, also those
/// that keep nearly nothing, half and nearly everything, and 1.
std::vector<Pick> thresholds(Op op, bool more);

/// A record with its identity and reproduce line (repeat_of) filled in, status not_run.
Record blank_record(const Variant& variant, const std::string& family, Op op, const CaseShape& shape,
                    std::uint64_t seed);

}  // namespace assay
