// Outputs made elsewhere, by anything: read from files beside their logits and judged like a kernel's, but
// for what needs a launch.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reference/problem.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// Logits and what was made of them, each a FILE or FILE:NAME (reference/files/tensor_file.hpp). `values` holds
/// probabilities, log-probabilities, lse or top-k values; what is empty was not given.
struct Graded {
  std::string name, why;  // of the record's family
  std::string logits, values, indices;
  std::optional<Dtype> dtype = {};  // of the logits; files of bf16's bits are taken as bf16 only by this word
  std::uint64_t seed = 0;
  std::optional<Dtype> out_dtype = {};  // of the values, likewise; where it is empty the logits' word holds
};

struct GradeOptions {
  std::string name = "outputs";  // of the variant in the records
  Op op = Op::softmax;
  std::string declaration;  // kernels/declaration.hpp
  std::optional<double> max_ulp;
  int threads = 0;  // 0: one per core
};

/// The names of outputs beside a file of logits: "normal_1_V33.npy" has "normal_1_V33.probs.npy" and
/// "normal_1_V33.indices.npy"; of other ops than softmax and softmax_topk "normal_1_V33.values.npy".
std::filesystem::path values_beside(const std::filesystem::path& logits, Op op);
std::filesystem::path indices_beside(const std::filesystem::path& logits);

/// Judges all of them. Outputs that are not there become records that were not run, and the report fails;
/// what is there and can not be read, or has another shape than its logits ask for, throws InputError that
/// names the file.
ReportData grade(const std::vector<Graded>& cases, const GradeOptions& options);

}  // namespace assay
