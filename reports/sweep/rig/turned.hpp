// SPDX-License-Identifier: Apache-2.0
// Rows that repeat a tile and are turned: which row of the tile lies where.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay {

struct Turned {
  std::int64_t rows = 0, distinct = 1;  // the tile's first `distinct` rows are repeated; at most `rows`
  std::int64_t turn = 0;                // row r holds what row r + turn would hold if nothing were turned

  /// Turns by whole units keep the alignment of a row's address: a tile of more rows has a multiple of 16.
  static std::int64_t unit(std::int64_t distinct) { return distinct > 16 && distinct % 16 == 0 ? 16 : 1; }

  /// The row of the tile that row r holds.
  std::int64_t held_by(std::int64_t r) const { return (r + turn) % distinct; }
  /// A row that holds what row r would hold if nothing were turned: of the same repetition, or if that is cut
  /// short there, of the one before.
  std::int64_t place_of(std::int64_t r) const {
    const std::int64_t at = r / distinct * distinct + (r % distinct + distinct - turn % distinct) % distinct;
    return at < rows ? at : at - distinct;
  }
};

}  // namespace assay
