// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/output_names.hpp"

#include <string>

namespace assay {
namespace {

std::filesystem::path beside(std::filesystem::path logits, const char* what) {
  return logits.replace_extension(std::string(".") + what + ".npy");
}

}  // namespace

const char* usual_name(Op op) { return probabilities(op) ? "probs" : "values"; }

std::filesystem::path values_beside(const std::filesystem::path& logits, Op op) {
  return beside(logits, usual_name(op));
}

std::filesystem::path indices_beside(const std::filesystem::path& logits) {
  return beside(logits, "indices");
}

}  // namespace assay
