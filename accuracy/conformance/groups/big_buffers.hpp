// SPDX-License-Identifier: Apache-2.0
// The buffers of a problem that is too large to hold: which logits are written, which outputs come back, and
// how these become the outputs of a small problem that can be judged as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/case/guarded.hpp"
#include "accuracy/record.hpp"
#include "kernels/candidate.hpp"
#include "reference/tensor.hpp"

namespace assay::conformance {

/// A NaN, and no index. What `untouched` looks for.
inline constexpr std::uint64_t kUnwritten = ~std::uint64_t{0};
/// Another such pattern, or zeros, as memory holds them in use.
std::uint64_t drawn_unwritten(std::uint64_t draw);

class BigBuffers {
 public:
  /// `low`: the value of every logit that is not written. `unwritten`: what every element of the outputs
  /// holds before the launch.
  BigBuffers(const Variant& variant, const Problem& problem, double low,
             std::uint64_t unwritten = kUnwritten);

  const Problem& problem() const { return p_; }
  PartBuffers& parts() { return parts_; }
  /// Why the operands cannot be made neutral, if they cannot: on the host, memory holds zeros except where
  /// something is written.
  const Obstacle& no_room() const { return no_room_; }

  /// Adds a row that is judged, and gives its logits: those in `columns` (ascending), or all of them if that
  /// is empty. Its outputs come back for the same columns. Rows must be added in ascending order.
  void choose(std::int64_t row, const Tensor& logits, std::int64_t of_row,
              const std::vector<std::int64_t>& columns = {});
  /// Copies the outputs of the n-th chosen row to row n of a launch of the small problem.
  void hand_over(std::size_t n, GuardedLaunch& to) const;
  /// Empty, or where the logits were changed, in words.
  std::string changed_inputs() const;
  /// All outputs of the n-th chosen row that came back.
  std::vector<std::byte> outputs_of(std::size_t n) const;

 private:
  struct Chosen {
    std::vector<std::int64_t> columns;  // empty: all
    std::size_t first[5] = {};          // index of its first part in values, indices, m, d
    std::size_t parts[5] = {};
  };
  std::vector<std::byte> bytes_of(const Chosen& c, int buffer) const;

  Problem p_;
  void neutral_operands(bool on_device);

  PartBuffers parts_;
  Obstacle no_room_;
  std::vector<Chosen> chosen_;
};

/// True if a row's outputs are as they were before the launch.
bool untouched(const std::vector<std::byte>& outputs);

// Finds out whether a few blocks of a launch on the host executor are enough to compute a few rows. The group
// `big` relies on this for problems that are too large to run whole.

/// What kept launch_parts from a launch.
Obstacle no_room_of(const PartOutcome& outcome);

struct BlockOwners {
  std::int64_t rows_per_block = 0;  // rows that a block owns, in turn with the other blocks; 0: not shown
  Obstacle why;                     // if not shown: what keeps the case from being judged
  FaultKind wants = {};             // if not shown: what was missing, memory or nothing
  /// A launch of all blocks that went wrong. It counts against the kernel, whatever the launch was made for.
  /// `fault` says how many rows it had; `check` is the check that it fails if it came back.
  LaunchOutcome seen = {};
  Check check = Check::launch;
};

/// Tries it on problems with the same row length V and fewer rows, and with the same number of rows and a
/// smaller V, so that no offset exceeds 2^31 bytes. It is shown if chosen blocks alone write their rows with
/// the same bits as a run of all blocks, and write every other row completely or not at all. `problem`: the
/// case's problem, dense; `seconds`: the time after which a launch counts as hung.
BlockOwners block_owners(const Variant& variant, Launcher& launcher, const Problem& problem, double seconds);

}  // namespace assay::conformance
