// Input families: named distributions of rows, each with the sentence that says what it attacks. A row is
// a function of (family, dtype, V, row, seed) alone, so that one record line reproduces it anywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/tensor.hpp"

namespace assay {

enum class FamilyKind { ordinary, real, special };

struct Family {
  const char* name;
  const char* why;  // what it attacks, one sentence
  FamilyKind kind = FamilyKind::ordinary;
};

/// All families, in report order.
std::span<const Family> families();
const Family* find_family(std::string_view name);

/// The vocabulary sizes of the report.
std::span<const std::int64_t> report_sizes();

/// False where the family does not exist for this dtype and V (real logits end at V = 32000, say).
bool applies(const Family& family, Dtype dtype, std::int64_t V);

/// Rows the report runs: several below V = 2048, one above, unless the family is a sweep (spike
/// positions). `full` runs the complete sweep at every V.
std::int64_t report_rows(const Family& family, Dtype dtype, std::int64_t V, bool full);

/// rows x V of the family, already rounded to dtype. Finite families stay finite after rounding.
/// Throws InputError if a data file is missing or broken.
Tensor make_input(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed);

/// Where the committed tensors are: ASSAY_DATA if set, beside the executable, or the source tree.
std::string data_directory();

}  // namespace assay
