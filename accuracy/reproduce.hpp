// The command that does a case again: one builder for every record's `reproduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/registry.hpp"
#include "reference/problem.hpp"

namespace assay {

/// A word as a shell reads it back.
std::string shell_quoted(const std::string& word);

/// What stands on the line, in this order; empty fields are left out.
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

/// A variant's case. One of the registry is repeated by `assay report`, one from elsewhere by `assay check`
/// under the words that named it. k only of an op that has one, the op only where it is not the variant's
/// own.
Repeat repeat_of(const Variant& variant, const std::string& family, Op op, std::int64_t V, std::int64_t rows,
                 int k, std::uint64_t seed);

}  // namespace assay
