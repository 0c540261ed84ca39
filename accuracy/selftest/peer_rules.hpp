// SPDX-License-Identifier: Apache-2.0
// How other projects judge a softmax, from their documentation, to show what their rules let through. None of
// this decides a verdict here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/tensor.hpp"

namespace assay::peer {

/// What every rule compares: the expected value, rounded to the output's type, and the value that was
/// returned.
struct Pair {
  double want = 0;
  double got = 0;
};

struct Rule {
  const char* name;
  const char* formula;  // in words, as in its documentation
  const char* source;
  bool (*accepts)(Dtype out, Op op, std::int64_t V, std::span<const Pair> pairs);
};
/// allclose(1e-4), assert_close, benchdnn.
std::span<const Rule> rules();

/// The reference of such tests: the op in double precision, with the maximum subtracted, rounded to `out`.
/// Values only, in rows of Problem::out_columns.
std::vector<double> reference(Op op, const Tensor& logits, const Pick& pick, Dtype out);

/// Inputs as such tests draw them: `rows` rows of row length V. normal: N(0, 1), as torch.randn gives.
/// benchdnn: a few elements at 90, 89 and 88 (or 88 below zero in every other group of 64 rows), and the
/// lowest finite number everywhere else.
Tensor normal_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);
Tensor benchdnn_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);

/// Runs the kernel once on dense rows, with its outputs set to zero before, and pairs its outputs with the
/// reference. Empty if the launch failed: then no rule passes.
std::vector<Pair> outputs(const Variant& variant, Op op, const Tensor& logits, const Pick& pick);

}  // namespace assay::peer
