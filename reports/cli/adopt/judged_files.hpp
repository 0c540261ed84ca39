// SPDX-License-Identifier: Apache-2.0
// The files that a certificate is about, and the words that name its kernel.
#pragma once

#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

CertifiedTarget certified_target(const TargetOptions& options);
TargetOptions target_options(const CertifiedTarget& target);

/// The file that the word itself names, with its hash; no file for a registered key. So a file that is
/// another one is noticed before it is loaded or compiled.
std::vector<CertifiedFile> named_file(const std::string& word);

/// That file, and the binary that ran: the shared object, or the program that a registered key is part of.
std::vector<CertifiedFile> judged_files(const std::string& word, const std::vector<Target>& targets);

/// What no hash covers.
std::vector<std::string> not_hashed(const std::string& word);

/// What the host compiler left out of the source, because it is for nvcc. Empty where the source is not
/// there.
std::vector<std::string> left_out_of_source(const CertifiedTarget& target);

}  // namespace assay
