// SPDX-License-Identifier: Apache-2.0
// cuDNN's softmax, a right external kernel. Without a GPU or the library, the entry says so and does not run.
#include "kernels/cudnn.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay
