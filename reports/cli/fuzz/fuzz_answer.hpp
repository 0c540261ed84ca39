// What --json and --junit say of a search.
#pragma once

#include <string>
#include <vector>

#include "reports/terminal/verdict_document.hpp"

namespace assay {

/// A candidate that was not searched.
VerdictCase not_searched(const std::string& key, const std::string& why);

/// One test case a search, and one a finding.
VerdictDocument fuzz_document(std::vector<VerdictCase> cases, std::string verdict, int status,
                              std::string reason);

}  // namespace assay
