// SPDX-License-Identifier: Apache-2.0
// A case: inputs, their exact results, and what every key's bound needs of them. Everything is computed once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/operand_values.hpp"
#include "accuracy/written_rows.hpp"
#include "kernels/registry.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {

/// Inputs and exact results of (family, dtype, V, rows, seed), where V is the row length. They are computed
/// once, and all keys of the dtype share them.
class Case {
 public:
  Case(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed,
       Tier tier = Tier::fast);
  /// Logits from another source, with a name for the record.
  Case(std::string name, Tensor logits, Tier tier = Tier::fast);

  /// For a kernel that computes its own logits from the `stored` ones. It is judged by the `effective`
  /// logits, rounded to the stored type.
  Case(std::string name, Tensor stored, const EffectiveLogits& effective, Tier tier = Tier::fast);

  /// The same case with every enclosure from MPFR, for verdicts that this case leaves undecided. Made at the
  /// first call, by any thread.
  const Case& by_mpfr() const;
  Tier tier() const { return tier_; }

  const std::string& family() const { return family_; }
  /// True if a kernel is judged by other logits than the stored ones.
  bool transformed() const { return effective_ != nullptr; }
  /// True if the kernel's own logits may differ from those that it is judged by.
  bool loose() const { return effective_ && !effective_->slack.empty(); }
  Dtype dtype() const { return logits_.dtype; }
  std::int64_t V() const { return logits_.V; }
  std::int64_t rows() const { return logits_.rows; }
  std::uint64_t seed() const { return seed_; }
  const Tensor& logits() const { return logits_; }
  /// Made for all rows at the first call, by any thread.
  const RowTruth& truth(std::int64_t row) const { return ready().truth_[static_cast<std::size_t>(row)]; }
  /// The shift in fp32 arithmetic with a subtracted maximum, which nearly every key uses; cached.
  const RoundedShift& shift(std::int64_t row) const { return ready().shift_[static_cast<std::size_t>(row)]; }
  std::int64_t undecided() const;
  /// Where its rows and columns are in the launch that is judged, if they are only some of it.
  const JudgedPart& part() const { return part_; }
  void is_part(JudgedPart part) { part_ = std::move(part); }

  /// The backward pass whose y is the softmax of these logits (backward/judge.hpp). Made at the first call,
  /// by any thread. In the case that is returned, logits() are y, gradients() are dy, and truth(row) does not
  /// exist.
  const Case& backward() const;
  /// The same rows as a causal kernel sees them: truth(row) is that of columns 0 to row mod V only. Made at
  /// the first call, by any thread.
  const Case& causal() const;
  /// Null if the case is not a backward pass.
  const Tensor* gradients() const { return gradients_.get(); }

 private:
  Case() = default;
  void prepare() const;
  const Case& ready() const {
    std::call_once(truth_once_, [this] { prepare(); });
    return *this;
  }

  std::string family_;
  std::uint64_t seed_ = 0;
  Tier tier_ = Tier::mpfr;
  Tensor logits_;
  std::shared_ptr<const EffectiveLogits> effective_;
  bool causal_rows_ = false;
  JudgedPart part_;
  mutable std::vector<RowTruth> truth_;
  mutable std::vector<RoundedShift> shift_;
  std::unique_ptr<const Tensor> gradients_;
  mutable std::once_flag truth_once_, mpfr_once_, backward_once_, causal_once_;
  mutable std::unique_ptr<const Case> mpfr_, backward_, causal_;
};

/// The case as this kernel sees it for this op: its backward pass for op softmax_backward, the
/// rows up to the diagonal for a causal kernel, else the case itself.
inline const Case& as_seen_by(const Variant& v, Op op, const Case& c) {
  if (op == Op::softmax_backward) return c.backward();
  return v.claim.causal == Causal::no ? c : c.causal();
}

/// Empty, or why single rows of logits are no input for such a kernel. For code that draws such rows: probes,
/// searches, properties.
inline std::string not_plain_rows(const Variant& v, Op op) {
  if (op == Op::softmax_backward) return "a backward pass has outputs and gradients";
  if (v.claim.causal != Causal::no) return "a causal kernel has squares, whose rows differ in length";
  return {};
}

}  // namespace assay
