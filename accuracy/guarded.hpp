// Buffers as a candidate sees them: poisoned outputs inside guard bands, inputs with a NaN in every gap,
// and what is left of all that after the launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/checks.hpp"
#include "kernels/candidate.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// How one launch lays out its buffers and how it is scheduled. Two layouts differ in everything a right
/// kernel must not depend on.
struct Layout {
  std::int64_t in_gap = 0;  // elements between rows
  std::int64_t out_gap = 0;
  std::int64_t offset = 0;  // elements from a 256-byte boundary to the first row
  int poison = 0;           // 0 or 1: which NaN payload fills the outputs
  LaunchOptions launch;
};

/// Dense and aligned, poison 0, threads in index order, the backend's own grid.
Layout plain_layout();
/// Gaps between rows, first row one element off alignment, poison 1, permuted schedule, at most two blocks.
Layout hostile_layout();

/// One launch: the problem with its pitches, and its buffers.
class GuardedLaunch {
 public:
  GuardedLaunch(const Variant& variant, Problem problem, const Tensor& logits, const Layout& layout);

  LaunchOutcome run();

  /// Guard bands and gaps intact, logits unchanged: judged into the tally.
  void inspect(Tally& tally) const;

  const Problem& problem() const { return problem_; }
  const Images& images() const { return images_; }
  /// Bits of value j of a row (probability, or top-k value) and whether they still are the poison.
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const;
  std::int64_t index(std::int64_t row, std::int64_t r) const;
  float m(std::int64_t row) const;
  float d(std::int64_t row) const;
  bool value_poisoned(std::int64_t row, std::int64_t j) const;
  bool index_poisoned(std::int64_t row, std::int64_t r) const;
  bool m_poisoned(std::int64_t row) const;
  bool d_poisoned(std::int64_t row) const;
  bool has_values() const { return problem_.out_columns() > 0; }
  bool has_indices() const { return selects(problem_.op); }
  bool has_normalizer() const { return !images_.m.empty(); }

 private:
  void fill(Image& image, std::size_t element, std::uint64_t pattern);
  void judge_guard(Tally& tally, const Image& image, const char* what) const;
  void judge_gaps(Tally& tally, const Image& image, std::size_t element, std::int64_t columns,
                  std::int64_t pitch, std::uint64_t pattern, const char* what) const;

  const Variant& variant_;
  Problem problem_;
  const Tensor& logits_;
  Layout layout_;
  Images images_;
};

}  // namespace assay
