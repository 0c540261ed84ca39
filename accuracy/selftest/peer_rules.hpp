// How others judge a softmax, from their documentation, so that one can see what those rules let through.
// None of this decides a verdict here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/tensor.hpp"

namespace assay::peer {

/// What the rules have in common: the expected value, rounded to the output's type, and the value got.
struct Pair {
  double want = 0;
  double got = 0;
};

struct Rule {
  const char* name;
  const char* formula;  // as its documentation says it, in words
  const char* source;
  bool (*accepts)(Dtype out, Op op, std::int64_t V, std::span<const Pair> pairs);
};
/// allclose(1e-4), assert_close, benchdnn.
std::span<const Rule> rules();

/// What such tests compare with: the op in double precision, with the maximum subtracted, rounded to `out`.
/// Values only, rows of Problem::out_columns.
std::vector<double> reference(Op op, const Tensor& logits, int k, Dtype out);

/// Rows x V of the inputs such tests draw. normal: N(0, 1), as torch.randn gives. benchdnn: a few elements at
/// 90, 89 and 88, or 88 below zero on every other group of 64 rows, and the lowest finite number everywhere
/// else.
Tensor normal_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);
Tensor benchdnn_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);

/// Runs the kernel once on dense rows, its outputs zero before, and pairs what it wrote with the reference.
/// Empty where the launch failed: no rule passes then.
std::vector<Pair> outputs(const Variant& variant, Op op, const Tensor& logits, int k);

}  // namespace assay::peer
