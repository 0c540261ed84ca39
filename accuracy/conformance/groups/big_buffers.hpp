// The buffers of a problem too large to hold: which elements of the logits are written, which elements of the
// outputs come back, and how those become the outputs of a small problem that can be judged whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/case/guarded.hpp"
#include "kernels/isolation/parts.hpp"
#include "reference/tensor.hpp"

namespace assay::conformance {

class BigBuffers {
 public:
  /// `low`: what every logit is that nobody writes.
  BigBuffers(const Variant& variant, const Problem& problem, double low);

  const Problem& problem() const { return p_; }
  PartBuffers& parts() { return parts_; }
  /// Empty, or why the operands cannot be made neutral: on the host, memory holds zeros or what is written there.
  const std::string& no_room() const { return no_room_; }

  /// One of the rows that are judged: its logits, at these ascending columns or at all of them, and its
  /// outputs there. Rows ascend.
  void choose(std::int64_t row, const Tensor& logits, std::int64_t of_row,
              const std::vector<std::int64_t>& columns = {});
  /// The outputs of the n-th chosen row, into row n of a launch of the small problem.
  void hand_over(std::size_t n, GuardedLaunch& to) const;
  /// Where the given logits are no longer what was given, in words; empty: nowhere.
  std::string changed_inputs() const;
  /// All that came back of the n-th chosen row's outputs.
  std::vector<std::byte> outputs_of(std::size_t n) const;

 private:
  struct Chosen {
    std::vector<std::int64_t> columns;  // empty: all
    std::size_t first[5] = {};          // of its parts in values, indices, m, d
    std::size_t parts[5] = {};
  };
  std::vector<std::byte> bytes_of(const Chosen& c, int buffer) const;

  Problem p_;
  void neutral_operands(const Operands& o, bool on_device);

  PartBuffers parts_;
  std::string no_room_;
  std::vector<Chosen> chosen_;
};

/// Whether a row's outputs are as they were before the launch.
bool untouched(const std::vector<std::byte>& outputs);

}  // namespace assay::conformance
