// SPDX-License-Identifier: Apache-2.0
// Does a certificate agree with itself, and with the data of its steps where they lie beside it? Nothing runs
// for that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"

namespace assay {

/// What the certificate says twice in two ways, one line each: a kernel's figures and its cases, the counts
/// of kernels and of steps, the verdict and the steps.
std::vector<std::string> contradictions(const Certificate& c);

struct ComparedData {
  std::vector<std::string> differences;
  std::vector<std::string> not_compared;  // files of steps that are not there: a certificate may travel alone
};

/// Compares the steps' files in `folder`: their hashes, and what the certificate took from them.
ComparedData compare_data(const Certificate& c, const std::filesystem::path& folder);

}  // namespace assay
