// SPDX-License-Identifier: Apache-2.0
// The command that repeats a case: one builder for the `reproduce` of every record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/registry.hpp"
#include "reference/problem.hpp"

namespace assay {

/// The parts of the line, in this order. Empty fields are left out.
struct Repeat {
  /// The command and what it judges, already quoted: "report --key safe_block/f32@host".
  std::string words;
  std::string group = {}, family = {};
  std::optional<std::int64_t> V = {}, rows = {};
  std::optional<std::uint64_t> seed = {};
  std::optional<int> k = {};
  std::optional<Op> op = {};
  std::string setup = {};
  std::optional<Dtype> dtype = {};
  std::string declare = {};
  std::optional<double> max_ulp = {};
  std::string extent = {};  // "quick", "full"
  std::optional<std::int64_t> pitch = {};
};

/// "assay report --key safe_block/f32@host --family ties --V 33 --rows 4 --seed 1".
std::string reproduce(const Repeat& repeat);

/// The command line of one case of a variant. A variant of the registry is repeated by `assay report`; any
/// other by `assay check` with the words that named it. k is given only if the op has one, and the op only if
/// it is not the variant's own.
Repeat repeat_of(const Variant& variant, const std::string& family, Op op, std::int64_t V, std::int64_t rows,
                 int k, std::uint64_t seed);

}  // namespace assay
