// Launches on buffers of many gigabytes of which only parts are written before and looked at after: nothing
// of their size is ever held or copied by the supervisor.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {

/// Bytes at an offset of a buffer's payload.
struct Part {
  std::uint64_t at = 0;
  std::vector<std::byte> bytes;
};

/// One buffer. An absent one has no payload.
struct PartBuffer {
  std::uint64_t payload = 0;  // bytes
  std::size_t element = 1;    // bytes of `fill`: 1, 2, 4 or 8
  std::uint64_t fill = 0;     // what an element holds that is in no part of `given`
  std::vector<Part> given;    // ascending
  std::vector<Part> wanted;   // sized by the caller, their bytes put in by the launch
};

/// In the order of Images: logits, values, indices, m, d, workspace.
using PartBuffers = std::array<PartBuffer, kBuffers>;

struct PartOptions {
  /// Host executor: only the blocks that own these rows run, `rows_per_block` rows a block in turn with the
  /// others; none: all blocks. At most kMostRows.
  std::vector<std::int64_t> rows;
  std::int64_t rows_per_block = 0;
  double seconds = 120;  // then it hangs
  static constexpr std::size_t kMostRows = 16;
};

struct PartOutcome {
  LaunchOutcome launch;
  std::string guard;                  // which bytes beside a buffer were overwritten; empty: none
  std::string no_room;                // why there was no launch
  FaultKind wants = FaultKind::none;  // what it was not launched for the want of: memory, or nothing
  double seconds = 0;                 // from the request to its answer
};

/// A Launcher that can do this. In host memory the outputs hold their fill only where parts are wanted: a
/// page that nobody touches costs nothing.
class PartLauncher {
 public:
  virtual ~PartLauncher() = default;
  /// In a fresh worker, which is ended after it. Never throws for a failing kernel.
  virtual PartOutcome launch_parts(const Variant& variant, const Problem& problem, PartBuffers& buffers,
                                   const PartOptions& options) = 0;
};

}  // namespace assay
