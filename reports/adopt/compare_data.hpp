// SPDX-License-Identifier: Apache-2.0
// Is a certificate what the data beside it make? Nothing of the kernel runs for that.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"

namespace assay {

struct ComparedData {
  std::vector<std::string> differences;
  std::vector<std::string> not_compared;  // what is not there: a certificate may travel alone
  bool made_again = false;                // false: the certificate was only hashed
};

/// "/kernels/0/max_ulp: the certificate says 0.25, and its data say 1.5", one line for each member. `who`:
/// "its data say".
std::vector<std::string> differing_members(const nlohmann::json& certified, const nlohmann::json& made,
                                           const std::string& who);

/// Hashes the files in `folder`, makes the certificate again from them, and its page and badge.
ComparedData compare_data(const Certificate& c, const std::filesystem::path& folder);

}  // namespace assay
