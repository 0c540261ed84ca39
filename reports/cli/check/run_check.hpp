// SPDX-License-Identifier: Apache-2.0
// What `assay check` runs, without its command line: `assay adopt` runs it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/device.hpp"
#include "reports/data/report_data.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

/// The groups that need the properties or a second process of this program.
std::vector<conformance::Group> groups_of_programs();

/// What the adopter said of the kernel in his own words.
struct Asked {
  std::string declared;  // --declare
  std::string required;  // the region of --require; empty: the usual one
  bool entry = false;    // --entry: what a source's adapter declares follows from his own words
};

/// Judges every target, and searches the contract of those that come from elsewhere. `quick` goes into the
/// data.
ReportData run_check(const std::vector<Target>& targets, const conformance::ConformanceOptions& run,
                     bool quick, const Asked& asked, conformance::Keeper& keeper);

/// The record of a kernel that died while it was loaded.
Record record_of_death(const Target& target);

/// The exit status of a check with these data.
int status_of_check(const ReportData& data, bool accept_limits);

/// The contract of each kernel, for programs: the same as the page's table. An empty object if single cases
/// were requested.
std::string contracts_of(const ReportData& data);

/// Two checks at once on one GPU would disturb each other. Waits, if one of the targets runs on a GPU.
std::unique_ptr<DeviceLock> lock_device(const std::vector<Target>& targets);

}  // namespace assay
