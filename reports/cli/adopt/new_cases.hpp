// SPDX-License-Identifier: Apache-2.0
// New cases for `assay verify`: like certified ones, with inputs that nobody could know before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/registry.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

// The kernels of a certificate as one thread of `assay verify` has them.

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

/// Runs a case of the same group, op and number of rows as `like`, with inputs of this seed. The row length
/// of every other one (by `number`) is drawn too, near that of `like` and within the limits of the
/// certificate. Rows that no seed changes become normal ones. Empty if the group plans no such case.
std::optional<Record> new_case(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                               const Certificate& c, const CaseRunner& place);

/// True if the record contradicts a certificate of a right kernel.
bool is_wrong(const Record& r);
/// Of such a record: the check that failed, and its words.
std::string why_wrong(const Record& r);

}  // namespace assay
