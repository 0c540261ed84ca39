// SPDX-License-Identifier: Apache-2.0
// Launches on buffers of many gigabytes. Only parts of them are written before the launch and checked after
// it. The supervisor never holds or copies anything as large as a buffer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {

/// The bytes at an offset of a buffer's payload.
struct Part {
  std::uint64_t at = 0;
  std::vector<std::byte> bytes;
};

/// One buffer. A buffer without a payload is absent.
struct PartBuffer {
  std::uint64_t payload = 0;  // bytes
  std::size_t element = 1;    // bytes of `fill`: 1, 2, 4 or 8
  std::uint64_t fill = 0;     // the value of every element outside `given`
  std::vector<Part> given;    // in ascending order
  std::vector<Part> wanted;   // the caller sets their sizes, the launch fills in their bytes
};

/// In the order of Images: logits, values, indices, m, d, workspace.
using PartBuffers = std::array<PartBuffer, kBuffers>;

struct PartOptions {
  /// Host executor only: the rows whose blocks run. Blocks own rows in turn, `rows_per_block` rows each. If
  /// `rows` is empty, all blocks run. At most kMostRows.
  std::vector<std::int64_t> rows;
  std::int64_t rows_per_block = 0;
  double seconds = 120;  // after these it counts as hung
  static constexpr std::size_t kMostRows = 16;
};

struct PartOutcome {
  LaunchOutcome launch;
  std::string guard;     // which bytes beside a buffer were overwritten, or empty
  std::string no_room;   // why there was no launch, or empty
  FaultKind wants = {};  // memory, if the launch did not happen for lack of it
  double seconds = 0;    // from the request to its answer
};

/// A Launcher that can do this. In host memory only the wanted parts of an output hold the fill value,
/// because a page that nobody touches costs nothing.
class PartLauncher {
 public:
  virtual ~PartLauncher() = default;
  /// Launches in a fresh worker, which is ended afterwards. Never throws because a kernel fails.
  virtual PartOutcome launch_parts(const Variant& variant, const Problem& problem, PartBuffers& buffers,
                                   const PartOptions& options) = 0;
};

}  // namespace assay
