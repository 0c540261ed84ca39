// SPDX-License-Identifier: Apache-2.0
// Buffers as a candidate kernel sees them: poisoned outputs between guard bands, and inputs with a NaN in
// every gap. After the launch the guards and inputs are inspected.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/case/before_launch.hpp"
#include "accuracy/case/operand_values.hpp"
#include "accuracy/checks.hpp"
#include "accuracy/written_rows.hpp"
#include "kernels/candidate.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// The layout of one launch's buffers, and its schedule. The plain and the hostile layout differ in
/// everything that must not affect a right kernel.
struct Layout {
  std::int64_t in_gap = 0;  // elements between rows
  std::int64_t out_gap = 0;
  std::int64_t offset = 0;      // elements from a 256-byte boundary to the first row
  std::int64_t out_offset = 0;  // added to offset for the first row of the outputs; may be negative
  /// What guard bands and the gaps of the logits hold: 0: NaN; 1: a large finite number. All patterns depend
  /// on it.
  int poison = 0;
  Stale outputs = Stale::mark;  // what outputs hold before the launch
  std::uint64_t draw = 0;       // every pattern is drawn from it; 0: from the seed of the run
  std::size_t guard = 512;      // bytes on either side of every payload, a multiple of 256
  LaunchOptions launch = {};
};

/// Dense and aligned, poison 0, threads in index order, the backend's own grid.
Layout plain_layout();
/// Gaps between rows, first row one element after an aligned address, poison 1, permuted schedule, at most
/// two blocks.
Layout hostile_layout();
/// The layout, adapted to the declared limits of a variant. Dense rows: no gaps. Aligned rows: the gaps and
/// the offset are increased until every row is aligned.
Layout fitted(Layout layout, const Variant& variant, const Problem& problem);

/// What a launch reads in addition to the logits. It must outlive the launch, as the logits must. Null: no
/// gradients, neutral operands.
struct Beside {
  const Tensor* gradients = nullptr;  // of a backward pass
  const OperandValues* operands = nullptr;
};

/// One launch: the problem with its pitches, and its buffers.
class GuardedLaunch final : public WrittenRows {
 public:
  GuardedLaunch(const Variant& variant, Problem problem, const Tensor& logits, const Layout& layout,
                const Beside& beside = {});

  LaunchOutcome run();
  /// Runs two launches of the same problem at the same time. The variant must have a launcher.
  static std::array<LaunchOutcome, 2> run_both(GuardedLaunch& a, GuardedLaunch& b);

  /// Checks that guard bands and gaps are intact and the logits unchanged; the results go into the tally.
  void inspect(Tally& tally) const;

  const Problem& problem() const override { return problem_; }
  const Images& images() const { return images_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override;
  std::int64_t index(std::int64_t row, std::int64_t r) const override;
  float m(std::int64_t row) const override;
  float d(std::int64_t row) const override;
  /// True if the output still holds what it held before the launch. Only of marks and of the large finite
  /// number: of anything else it is not known.
  bool value_poisoned(std::int64_t row, std::int64_t j) const;
  bool index_poisoned(std::int64_t row, std::int64_t r) const;
  bool m_poisoned(std::int64_t row) const;
  bool d_poisoned(std::int64_t row) const;
  bool has_values() const override { return problem_.out_columns() > 0; }
  bool has_indices() const override { return selects(problem_.op); }
  bool has_normalizer() const override { return !images_.m.empty(); }
  const Layout& layout() const { return layout_; }
  /// Takes outputs that were computed elsewhere, instead of a run: rows of a problem too large for guarded
  /// buffers.
  void receive(std::int64_t row, const std::byte* values, const std::byte* indices, const float* m,
               const float* d);
  /// Copies one row of this launch's outputs to a launch of the same op and row length.
  void copy_row(std::int64_t row, GuardedLaunch& to, std::int64_t at) const;

 private:
  /// The patterns of this launch, in the format's bits.
  struct Patterns {
    std::uint64_t output = 0, guard = 0, gap = 0;
  };
  Patterns patterns(Dtype t) const;
  Patterns index_patterns() const;
  /// Outputs that are no marks hold something that a launch may find in use.
  void make_stale();
  /// In the same launches the guard bands end like a block of the C library's heap begins.
  void make_headers();
  bool has_header(const Image& image) const;
  bool holds_marks() const { return layout_.outputs == Stale::mark || layout_.outputs == Stale::finite; }

  /// Fills the payload with one pattern and the guard bands with another. Both patterns have `element` bytes.
  static void fill(Image& image, std::size_t element, std::uint64_t pattern, std::uint64_t guard);
  void judge_guard(Tally& tally, const Image& image, std::size_t element, std::uint64_t guard,
                   const char* what) const;
  void make_operands(const OperandValues& values);
  void inspect_operands(Tally& tally) const;
  void judge_gaps(Tally& tally, const Image& image, std::size_t element, std::int64_t columns,
                  std::int64_t pitch, std::uint64_t pattern, const char* what) const;

  /// Lays out the gradients like the logits.
  void place_gradients();
  void judge_gradients(Tally& tally) const;

  const Variant& variant_;
  Problem problem_;
  const Tensor& logits_;
  const Tensor* gradients_;
  Layout layout_;
  Images images_;
  std::uint64_t mark_ = 0, mark_f32_ = 0,
                mark_index_ = 0;                 // Patterns::output of values, of m and d, of indices
  std::array<std::vector<std::byte>, 4> given_;  // payloads of mask, bias, lengths, temperatures
};

}  // namespace assay
