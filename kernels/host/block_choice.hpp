// SPDX-License-Identifier: Apache-2.0
// Runs only a few blocks of a grid, for problems that are too large to run whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace assay::executor {

/// Given the number of blocks of the grid, returns the numbers of the blocks to run.
using BlockChoice = std::function<std::vector<std::uint64_t>(std::uint64_t blocks)>;

/// Chooses the blocks that own these rows. Block 0 owns the first `per_block` rows, block 1 the next ones,
/// and so on. After the last block it is block 0's turn again. If `rows` is empty, all blocks run.
///
/// A kernel may also be launched several times, each time for as many rows as its grid has room for. Example:
/// 10 rows, 4 rows a launch. The last launch has 2 blocks, for rows 8 and 9. Blocks that own a row in this
/// way run, too.
inline BlockChoice owners_of(std::vector<std::int64_t> rows, std::int64_t per_block) {
  if (rows.empty() || per_block < 1) return {};
  return [rows = std::move(rows), per_block](std::uint64_t blocks) {
    std::vector<std::uint64_t> chosen;
    const auto choose = [&](std::uint64_t b) {
      if (std::find(chosen.begin(), chosen.end(), b) == chosen.end()) chosen.push_back(b);
    };
    const auto turn = [&](std::int64_t row) { return static_cast<std::uint64_t>(row / per_block); };
    const std::uint64_t turns = turn(*std::max_element(rows.begin(), rows.end())) + 1;
    for (const std::int64_t row : rows) {
      choose(turn(row) % blocks);
      if (blocks < turns && turn(row) >= turns - blocks) choose(turn(row) - (turns - blocks));
    }
    return chosen;
  };
}

/// Applies to the later launches of this OS thread. An empty function means all blocks.
void choose_blocks(BlockChoice choice);

}  // namespace assay::executor
