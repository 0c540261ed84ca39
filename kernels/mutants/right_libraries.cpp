// SPDX-License-Identifier: Apache-2.0
// Right kernels of libraries: Eigen's and cuDNN's softmax.
#include <Eigen/Core>
#include <cstring>

#include "kernels/cudnn.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

// Eigen's softmax, written with arrays as usual: a right external kernel on host memory.
namespace eigen {

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

}  // namespace eigen

// cuDNN's softmax, a right external kernel. Without a GPU or the library, the entry says so and does not run.
namespace cudnn {

void softmax(const Problem& p, const Buffers& b, const Stream& s) { cudnn_softmax(true, p, b, s); }

bool plant(Dtype dtype, const char* fault, const char* declaration, bool judgeable_rows_only = false) {
  Mutant m;
  m.variant.dtype = dtype;
  m.variant.backend = Backend::cuda;
  m.variant.file = __FILE__;
  m.variant.run = softmax;
  m.id = "R38";
  m.fault = fault;
  m.expect.family = "";
  m.expect.declaration = declaration;
  m.expect.judgeable_rows_only = judgeable_rows_only;
  m.expect.only = "cuda";
  m.expect.why = "cuDNN works on a GPU";
  m.missing = cudnn_missing;
  return register_mutant(std::move(m));
}

// Its division and the order of its sum are not documented. Observed for cuDNN 9 on an H200: rows that hold
// only -inf give NaN at V = 1 and 0 at V = 33; f16 results are off by up to 1.06 ulp, more than one rounding,
// as if numerators were kept in f16.
constexpr const char* kDeclared = "algorithm=safe; normalise=recomputed; exp=fast; finite=yes";
constexpr const char* kDeclaredHalf = "algorithm=safe; internals=f16; exp=half; finite=yes";
const bool planted[] = {
    plant(Dtype::f32, "right_cudnn", kDeclared),
    plant(Dtype::f16, "right_cudnn_f16", kDeclaredHalf, true),
};

}  // namespace cudnn

}  // namespace
}  // namespace assay
