// A genome: a small structured description of logits and of the launch that reads them. A search changes
// genomes, not numbers: what distinguishes rows that break kernels (where a maximum lies, which thread's
// slice is masked, which values tie) has a gene of its own. Genome to logits is in genome_element.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reference/tensor.hpp"

namespace assay::fuzz {

/// The shape of a row before anything is put on top of it; i is the column after the permutation.
enum class Base : std::int32_t {
  constant,    // offset
  normal,      // offset + spread z, z nearly N(0, 1)
  uniform,     // offset - spread u, u in [0, 1)
  ramp,        // offset + gap i
  staircase,   // offset + gap (i / period)
  two_valued,  // offset, or gap below it two times of three
  slices,      // offset - gap (0 ... 4, one for each i % period) - spread u: the maxima of lanes and threads
  tiles,       // the same for each i / period
  powers,      // offset +- 2^e (1 + u), e up to period / 2 from 0
  neighbours,  // up to period neighbours of the format away from offset
};
inline constexpr std::array<const char*, 10> kBaseNames = {"constant",  "normal",     "uniform", "ramp",
                                                           "staircase", "two_valued", "slices",  "tiles",
                                                           "powers",    "neighbours"};

/// What a stretch of columns is overwritten with.
enum class Put : std::int32_t {
  value,  // its value
  neg_inf,
  pos_inf,
  nan,
  neg_zero,
  subnormal,  // the smallest
  largest,    // the largest finite
  lowest,     // its negative
  above,      // offset + its value
};
inline constexpr std::array<const char*, 9> kPutNames = {
    "value", "neg_inf", "pos_inf", "nan", "neg_zero", "subnormal", "largest", "lowest", "above"};

/// Columns start, start + 1, ... start + length - 1, again every `period` columns (0: once), in every row or
/// in one of four. A negative start counts from the end of the row.
struct Stretch {
  Put put = Put::value;
  std::int32_t rows = -1;  // -1: every row; 0 ... 3: rows with that remainder modulo 4
  std::int64_t start = 0, length = 1, period = 0;
  double value = 0;
  bool operator==(const Stretch&) const = default;
};

inline constexpr int kMostStretches = 6;

struct Genome {
  Base base = Base::normal;
  double offset = 0, spread = 1, gap = 1;
  std::int64_t period = 32;
  double grid = 0;  // a power of two: values are rounded down to its multiples, so that they tie; 0: not
  std::uint64_t seed = 1;
  std::uint64_t permutation = 0;  // of the columns of the base; 0: none
  std::int32_t stretches = 0;
  std::array<Stretch, kMostStretches> stretch = {};
  std::int64_t V = 1000, rows = 4;
  // The launch.
  std::int64_t pitch_gap = 0;   // elements between rows
  std::int64_t first = 0;       // elements from an aligned address to the first row
  std::int64_t max_blocks = 0;  // 0: the backend's own grid
  std::uint64_t schedule = 0;   // of the host executor
  std::int32_t k = 5;           // of top-k
  bool operator==(const Genome&) const = default;
};

/// The largest V, rows and rows x V that a genome may have.
inline constexpr std::int64_t kMostColumns = std::int64_t{1} << 26;
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

/// The genome with every gene in its range: what a mutation, a crossover or a file may not have respected.
Genome in_range(Genome g);

/// The logits, a function of genome and dtype alone: the same bits on every machine and on a GPU.
Tensor tensor_of(const Genome& g, Dtype dtype);

nlohmann::json to_json(const Genome& g);
/// Throws InputError naming the gene that is missing, of the wrong type or out of range.
Genome genome_from_json(const nlohmann::json& j);

/// "normal(0, 1) V=1000 x 4, 2 stretches": for people.
std::string describe(const Genome& g);

}  // namespace assay::fuzz
