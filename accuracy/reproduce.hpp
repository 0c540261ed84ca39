// SPDX-License-Identifier: Apache-2.0
// The command that repeats a case: one builder for the `reproduce` of every record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/problem.hpp"

namespace assay {

/// The parts of the line, in this order. Empty fields are left out.
struct Repeat {
  /// The command and what it judges, already quoted: "report --key safe_block/f32@host".
  std::string words;
  std::string group = {}, family = {};
  /// The numbers of the case, in the order of its op's list: option and text.
  struct Number {
    SizePart part;
    bool of_inputs;  // stands before the seed
    std::string option, text;
  };
  std::vector<Number> numbers = {};
  std::optional<std::uint64_t> seed = {};
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
/// other by `assay check` with the words that named it. Numbers that the op does not have are left out, and
/// so is the op if it is the variant's own.
Repeat repeat_of(const Variant& variant, const std::string& family, Op op, const CaseShape& shape,
                 std::uint64_t seed);
/// The options of all numbers of a case: " --V 33 --rows 3 --k 5".
std::string options_of(Op op, const CaseShape& shape);
/// "--head-size", the option of a number.
std::string option_of(const SizeInfo& size);

}  // namespace assay
