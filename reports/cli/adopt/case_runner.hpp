// SPDX-License-Identifier: Apache-2.0
// The kernels of a certificate as one thread of `assay verify` has them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/registry.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

/// Each kernel is in a worker of its own.
class CaseRunner {
 public:
  CaseRunner(const Certificate& c, const std::vector<Target>& targets);
  /// Runs one case of the certificate, alone, with the case's seed. Throws InputError if the kernel or the
  /// case is not there now.
  Record run(const CertifiedCase& one, const Certificate& c) const;
  bool has(const std::string& key) const { return made_.contains(key); }
  /// Within the limits that the certificate found.
  const Variant& variant(const std::string& key) const { return made_.at(key).variant; }

 private:
  struct Made {
    Variant variant;
    std::string words;
  };
  std::map<std::string, Made> made_;
};

}  // namespace assay
