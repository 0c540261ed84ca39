// Where launches are timed: buffers that caches can not keep warm, launches in batches, the machine's own
// copy and read beside them. One rig per backend; it holds one problem at a time.
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

namespace assay {

/// What runs the launches; part of every record.
struct Machine {
  std::string name;  // of the GPU or the CPU
  std::string driver, cuda, compiler, flags;
  std::optional<double> sm_clock_mhz, mem_clock_mhz;  // at most
  std::optional<double> datasheet_gb_per_s;
  std::size_t memory_bytes = 0;
};

/// A launch that is no failure but can not be had: the record says `unsupported`.
struct SweepUnsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Bytes of one launch's buffers, each rounded up to 256.
struct Room {
  std::size_t logits = 0, probs = 0, indices = 0, workspace = 0;
  std::size_t outputs() const { return probs + indices; }
  std::size_t all() const { return logits + outputs() + workspace; }
};
Room room_for(const Variant& variant, const Problem& problem);

/// What the algorithm can not do without: every logit read once, every output (and index) written once.
std::int64_t compulsory_bytes(const Problem& problem);

/// All of these throw std::runtime_error where a launch or the machine fails, and SweepUnsupported.
class Rig {
 public:
  virtual ~Rig() = default;
  virtual const Machine& machine() const = 0;
  virtual std::optional<double> sm_clock_now_mhz() { return std::nullopt; }

  /// Sets of buffers for the variant: logits are the tile's rows, repeated; rows lie dense. The variant must
  /// outlive the launches.
  virtual void prepare(const Variant& variant, const Problem& problem, const Tensor& tile) = 0;
  /// From here on run_us copies so that `bytes` move in all, reads so many bytes, or launches nothing. False:
  /// there is no such thing here, or no room.
  virtual bool prepare_copy(std::size_t bytes) = 0;
  virtual bool prepare_read(std::size_t bytes) = 0;
  virtual bool prepare_empty() = 0;

  /// How caches are kept cold for what is prepared, a sentence, and how many launches of a sample stay cold.
  virtual std::string cold() const = 0;
  virtual std::int64_t most_launches() const = 0;
  /// Runs so many launches, one set of buffers after the other, and says how long all of them took.
  virtual double run_us(std::int64_t launches) = 0;
  /// The same launches with nothing around them: for a profiler.
  virtual void run_alone(std::int64_t launches) = 0;

  /// Fills every output of every set with a pattern that no right output holds.
  virtual void poison() = 0;
  /// Of the set that was launched last: one row's outputs and indices (null: not wanted), to host memory.
  virtual void fetch(std::int64_t row, void* values, void* indices) = 0;
  /// Of that set: all softmax outputs by the fast judge. `open_rows` gets the rows it could not finish within
  /// `seconds`; stops at the first failure.
  virtual FastJudgement judge(double seconds, std::int64_t& open_rows) = 0;
  /// Of that set: the logits are still the tile's.
  virtual bool logits_intact() = 0;
  /// False once the machine takes no more launches (a sticky error): the process has to start again.
  virtual bool alive() { return true; }
};

/// The selected GPU. Throws std::runtime_error where there is none.
std::unique_ptr<Rig> make_device_rig();
/// The host executor: host and host_fma keys.
std::unique_ptr<Rig> make_host_rig();

}  // namespace assay
