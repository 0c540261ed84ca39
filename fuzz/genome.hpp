// SPDX-License-Identifier: Apache-2.0
// A genome: a small structured description of logits and of the launch that reads them. A search changes
// genomes, not numbers. Each property that distinguishes rows that break kernels has its own gene: where a
// maximum lies, which thread's slice is masked, which values tie. genome_element.hpp makes the logits.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reference/tensor.hpp"

namespace assay::fuzz {

/// The values of a row before any stretch overwrites them; i is the column after the permutation.
enum class Base : std::int32_t {
  constant,    // offset
  normal,      // offset + spread z, z nearly N(0, 1)
  uniform,     // offset - spread u, u in [0, 1)
  ramp,        // offset + gap i
  staircase,   // offset + gap (i / period)
  two_valued,  // offset; in two of three columns gap below it
  slices,      // offset - gap (0 ... 4, by i % period) - spread u: the maxima of lanes and threads differ
  tiles,       // the same, by i / period
  powers,      // offset +- 2^e (1 + u), where e goes from 0 to period / 2
  neighbours,  // up to `period` values of the format above or below offset
};
inline constexpr std::array<const char*, 10> kBaseNames = {"constant",  "normal",     "uniform", "ramp",
                                                           "staircase", "two_valued", "slices",  "tiles",
                                                           "powers",    "neighbours"};

/// What overwrites a stretch of columns.
enum class Put : std::int32_t {
  value,  // the stretch's value
  neg_inf,
  pos_inf,
  nan,
  neg_zero,
  subnormal,  // the smallest subnormal
  largest,    // the largest finite number
  lowest,     // the lowest finite number
  above,      // offset + the stretch's value
};
inline constexpr std::array<const char*, 9> kPutNames = {
    "value", "neg_inf", "pos_inf", "nan", "neg_zero", "subnormal", "largest", "lowest", "above"};

/// Columns start, start + 1, ... start + length - 1, repeated every `period` columns (0: once), in every row
/// or in one row of four. A negative start counts from the end of the row.
struct Stretch {
  Put put = Put::value;
  std::int32_t rows = -1;  // -1: every row; 0 ... 3: rows whose number modulo 4 is this
  std::int64_t start = 0, length = 1, period = 0;
  double value = 0;
  bool operator==(const Stretch&) const = default;
};

inline constexpr int kMostStretches = 6;

struct Genome {
  Base base = Base::normal;
  double offset = 0, spread = 1, gap = 1;
  std::int64_t period = 32;
  double grid = 0;  // a power of two: values are rounded down to its multiples, so that they tie; 0: none
  std::uint64_t seed = 1;
  std::uint64_t permutation = 0;  // seed of a permutation of the base's columns; 0: none
  std::int32_t stretches = 0;
  std::array<Stretch, kMostStretches> stretch = {};
  std::int64_t V = 1000, rows = 4;
  std::vector<double> row = {};  // every row is this one, whatever the genes above; empty: they make the rows
  // The launch:
  std::int64_t pitch_gap = 0;   // gap between rows, in elements
  std::int64_t first = 0;       // first row's distance from an aligned address, in elements
  std::int64_t max_blocks = 0;  // cap on the grid; 0: the backend's own
  std::uint64_t schedule = 0;   // schedule of the host executor
  std::int32_t k = 5;           // of top-k
  bool operator==(const Genome&) const = default;
};

/// The largest V, and the largest rows x V, of a genome.
inline constexpr std::int64_t kMostColumns = std::int64_t{1} << 26;
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

/// The genome with every gene clamped to its range, which mutation, crossover or a file may have left.
Genome in_range(Genome g);

/// The logits. They depend on genome and dtype alone: the same bits on every machine and on a GPU.
Tensor tensor_of(const Genome& g, Dtype dtype);

nlohmann::json to_json(const Genome& g);
/// Throws InputError that names the gene that is missing, of the wrong type or out of range.
Genome genome_from_json(const nlohmann::json& j);

/// For people: "normal(0, 1) V=1000 x 4, 2 stretches".
std::string describe(const Genome& g);

}  // namespace assay::fuzz
