// One job: a kernel on inputs of one size. The problem that it is given, and the record that it begins with.
#pragma once

#include <cstdint>
#include <string>

#include "accuracy/record.hpp"
#include "kernels/registry.hpp"

namespace assay {

/// The problem of one job, its rows `pitch` elements apart (outputs of V columns too).
Problem problem_of(const Variant& variant, Op op, std::int64_t rows, std::int64_t V, int k,
                   std::int64_t pitch);

/// A record with its identity and reproduce line (repeat_of) filled in, status not_run.
Record blank_record(const Variant& variant, const std::string& family, Op op, std::int64_t V,
                    std::int64_t rows, int k, std::uint64_t seed);

}  // namespace assay
