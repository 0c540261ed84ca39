// SPDX-License-Identifier: Apache-2.0
// Where launches are timed: on buffers that caches cannot keep warm, in batches, beside the machine's own
// copy and read speed. One rig per backend; it holds one problem at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/registry.hpp"
#include "reference/tensor.hpp"
#include "reports/sweep/rig/clocks.hpp"

namespace assay {

/// Rows that repeat a tile and are turned: which row of the tile lies where.
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

/// The machine that runs the launches. Part of every record.
struct Machine {
  std::string name;  // name of the GPU or CPU
  std::string driver, cuda, compiler, flags;
  std::optional<double> sm_clock_mhz, mem_clock_mhz;  // maximum clocks
  std::optional<double> datasheet_gb_per_s;
  std::size_t memory_bytes = 0;
};

/// Thrown for a launch that is not available but is no failure: the record says `unsupported`.
struct SweepUnsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown for a launch that shows nothing, because the machine lacked memory or time: the record says
/// `not_run`.
struct SweepNotRun : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes of the buffers of one launch, each rounded up to 256.
struct Room {
  std::size_t logits = 0, probs = 0, indices = 0, workspace = 0;
  std::size_t outputs() const { return probs + indices; }
  std::size_t all() const { return logits + outputs() + workspace; }
};
Room room_for(const Variant& variant, const Problem& problem);

/// Minimum bytes of any algorithm: every logit read once, every output (and index) written once.
std::int64_t compulsory_bytes(const Problem& problem);

/// The ways to copy. memcpy is not always the fastest: on an H200 it takes 2.3 us longer above 1 MB if the
/// size is no multiple of 4 KiB. So the copy that others are compared with is the fastest of these.
enum class CopyBy {
  memcpy,     // cudaMemcpyAsync; on the host std::memcpy
  wide,       // a kernel, four accesses of 16 bytes a thread
  streaming,  // a kernel, one access a thread, not kept in the caches
  // The same kernel, started while the kernel before it ends. onepass is launched so, too: where a launch
  // takes as long as its accesses, a usual launch would be no fair comparison.
  overlapping,
  // The same, and it lets the next kernel start at once. Only what is called impossible is compared with it:
  // a kernel may let the next one start so early, most do not.
  chained,
};
inline constexpr CopyBy kCopies[] = {CopyBy::memcpy, CopyBy::wide, CopyBy::streaming, CopyBy::overlapping};

/// All functions throw std::runtime_error if a launch or the machine fails, SweepUnsupported and SweepNotRun.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual const Machine& machine() const = 0;
  virtual std::optional<double> sm_clock_now_mhz() { return std::nullopt; }

  /// Prepares sets of buffers for the variant. The logits are the tile's rows, repeated; rows lie dense. The
  /// variant must outlive the launches. One with a launcher is launched and timed in its worker.
  virtual void prepare(const Variant& variant, const Problem& problem, const Tensor& tile) = 0;
  /// From now on run_us copies so that `bytes` are moved in all; the other two make it read that many bytes,
  /// or launch an empty kernel. Returns false if this is not available here or memory is lacking.
  virtual bool prepare_copy(std::size_t bytes, CopyBy by) = 0;
  /// `chained`: as a copy that is.
  virtual bool prepare_read(std::size_t bytes, bool chained) = 0;
  virtual bool prepare_empty() = 0;

  /// A sentence on how the caches are kept cold, and the number of launches of a sample that stay cold.
  virtual std::string cold() const = 0;
  virtual std::int64_t most_launches() const = 0;
  /// Runs this many launches on the sets of buffers in turn. Returns the time of all of them in us.
  virtual double run_us(std::int64_t launches) = 0;
  /// Runs the same launches and nothing else: for a profiler.
  virtual void run_alone(std::int64_t launches) = 0;

  /// True if the kernel runs in a worker: it could know what it is given again, and could change a clock.
  /// The functions up to `choose` are for such a kernel, and do nothing for others.
  virtual bool renews() const { return false; }
  /// Before a sample: turns the logits of every set by some rows, each by others, and fills all outputs with
  /// NaN, zeros or a small number, or leaves the older results there. `draw` decides it.
  virtual void renew(std::uint64_t draw) { (void)draw; }
  /// Launches are made on a stream of the worker's own from now on, or on the default stream. Not for a
  /// kernel that takes no stream.
  virtual void use_own_stream(bool own) { (void)own; }
  /// What both clocks say of the last run_us; empty if there is one clock.
  virtual std::optional<TwoClocks> clocks() const { return {}; }
  /// Of the sets that the last run_us launched on, the number decides which is fetched, judged and compared
  /// from now on. Without a call it is the last one.
  virtual void choose(std::uint64_t draw) { (void)draw; }

  /// Fills every output of every set with a pattern that no right output contains.
  virtual void poison() = 0;
  /// Copies one row's outputs and indices of that set to host memory (null: not wanted). `row`: where its
  /// logits would lie if no rows were turned.
  virtual void fetch(std::int64_t row, void* values, void* indices) = 0;
  /// Judges all softmax outputs of that set by the fast judge. It stops at the first failure. `open_rows`
  /// gets the number of rows that it could not finish within `seconds`.
  virtual FastJudgement judge(double seconds, std::int64_t& open_rows) = 0;
  /// True if the logits of that set still equal the tile's.
  virtual bool logits_intact() = 0;
  /// Keeps a copy of all outputs of that set. False if there is no memory for it.
  virtual bool remember() = 0;
  /// True if all outputs of that set have the bits of those that `remember` kept, each row of those of the
  /// same logits, so that whatever was judged of them holds for these.
  virtual bool as_remembered() = 0;
  /// False once the machine accepts no more launches (a sticky error): the process must be restarted.
  virtual bool alive() { return true; }
};

/// The rig of the selected GPU. Throws std::runtime_error if there is none.
std::unique_ptr<Rig> make_device_rig();
/// The rig of the host executor: host and host_fma keys.
std::unique_ptr<Rig> make_host_rig();

}  // namespace assay
