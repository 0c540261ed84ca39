// SPDX-License-Identifier: Apache-2.0
// Outputs made by any other program. They are read from files beside their logits and judged like a kernel's
// outputs, except for what needs a launch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/files/npy.hpp"
#include "reference/problem.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Logits and the outputs made from them, each a FILE or FILE:NAME (reference/files/tensor_file.hpp).
/// `values`: probabilities, log-probabilities, lse or top-k values. Empty: not given.
struct Graded {
  std::string name, why;  // name and purpose of the record's family
  std::string logits, values, indices;
  std::optional<Dtype> dtype = {};  // of the logits; a file of bf16 bits is read as bf16 only if this says so
  std::uint64_t seed = 0;
  std::optional<Dtype> out_dtype = {};  // of the values, in the same way; if empty, `dtype` holds
};

struct GradeOptions {
  std::string name = "outputs";  // the variant's name in the records
  Op op = Op::softmax;
  double threshold = 0;     // of min_p and top_p
  std::string declaration;  // words of kernels/declaration.hpp
  std::optional<double> max_ulp;
  int threads = 0;  // 0: one per core
};

/// What to do about y.npz where y.npy is looked for, as the end of a message; empty if there is no y.npz.
std::string other_container(const std::string& file);

/// "bf16", or "f32:bf16" if the outputs have another type than the logits. Throws InputError.
void take_dtype(const std::string& word, Graded& g);

/// The files of one case, with shapes that fit each other; else InputError.
struct GradedFiles {
  Tensor logits;
  std::optional<Tensor> values;
  std::optional<IndexMatrix> indices;
  int k = 0;
};
GradedFiles load_graded(const Graded& g, Op op);
/// A kernel of which nothing is known but the declaration.
Variant graded_variant(const GradeOptions& o, Dtype in, Dtype out, int k);

/// Judges all cases. Missing outputs become not_run records, and the report fails. Outputs that cannot be
/// read, or whose shape does not fit their logits, throw InputError that names the file.
ReportData grade(const std::vector<Graded>& cases, const GradeOptions& options);

}  // namespace assay
