// Running a few blocks of a grid alone: for problems too large to run whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace assay::executor {

/// Which blocks to run, by number, of as many as the grid has.
using BlockChoice = std::function<std::vector<std::uint64_t>(std::uint64_t blocks)>;

/// Blocks that own the rows, if a block takes `per_block` rows in turn with the others. No rows: all blocks.
inline BlockChoice owners_of(std::vector<std::int64_t> rows, std::int64_t per_block) {
  if (rows.empty() || per_block < 1) return {};
  return [rows = std::move(rows), per_block](std::uint64_t blocks) {
    std::vector<std::uint64_t> chosen;
    for (const std::int64_t row : rows) {
      const auto b = static_cast<std::uint64_t>(row / per_block) % blocks;
      if (std::find(chosen.begin(), chosen.end(), b) == chosen.end()) chosen.push_back(b);
    }
    return chosen;
  };
}

/// For the later launches of this OS thread; an empty function: all of them.
void choose_blocks(BlockChoice choice);

}  // namespace assay::executor
