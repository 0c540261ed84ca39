// SPDX-License-Identifier: Apache-2.0
// Eigen's softmax, written with arrays as usual: a right external kernel on host memory.
#include <Eigen/Core>
#include <cstring>

#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

void softmax(const Problem& p, const Buffers& b, const Stream&) {
  using Array = Eigen::Array<float, Eigen::Dynamic, 1>;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const Eigen::Map<const Array> x(static_cast<const float*>(b.logits) + row * p.in_pitch, p.V);
    Eigen::Map<Array> y(static_cast<float*>(b.probs) + row * p.out_pitch, p.V);
    if (p.V == 0) continue;
    const Array e = (x - x.maxCoeff<Eigen::PropagateNaN>()).exp();
    y = e / e.sum();
  }
}

bool plant() {
  Mutant m;
  m.variant.backend = Backend::plugin;
  m.variant.file = __FILE__;
  m.variant.run = softmax;
  m.id = "R37";
  m.fault = "right_eigen";
  m.expect.family = "";
  // The exp of its packets ends at -88.4 with 1.5e-39, where a smaller number or 0 is right. That is as wrong
  // as a flushed result (ftz), and the same happens for -inf (so: finite). Elements after the last packet use
  // another exp: equal logits need not give equal bits, and `kept` allows that.
  m.expect.declaration = "algorithm=safe; division=ieee; normalise=kept; height=V; ftz=yes; finite=yes";
  return register_mutant(std::move(m));
}
const bool planted = plant();

}  // namespace
}  // namespace assay
