// cuDNN's softmax: a right kernel by somebody else. Without a GPU or the library the entry says so and does
// not run.
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

// Its division and its order of the sum are not documented. What
// cuDNN 9 was seen to do on an H200: rows of nothing but -inf come out as NaN at V = 1 and as 0 at V = 33;
// f16 results are off by up to 1.06 ulp, more than one rounding, as where numerators are kept in f16.
constexpr const char* kDeclared = "algorithm=safe; normalise=recomputed; exp=fast; finite=yes";
constexpr const char* kDeclaredHalf = "algorithm=safe; internals=f16; exp=half; finite=yes";
const bool planted[] = {
    plant(Dtype::f32, "right_cudnn", kDeclared),
    plant(Dtype::f16, "right_cudnn_f16", kDeclaredHalf, true),
};

}  // namespace
}  // namespace assay
