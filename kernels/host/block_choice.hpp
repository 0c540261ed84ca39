// Running a few blocks of a grid alone: for problems too large to run whole.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace assay::executor {

/// Which blocks to run, by number, of as many as the grid has.
using BlockChoice = std::function<std::vector<std::uint64_t>(std::uint64_t blocks)>;

/// For the later launches of this OS thread; an empty function: all of them.
void choose_blocks(BlockChoice choice);

}  // namespace assay::executor
