// SPDX-License-Identifier: Apache-2.0
// What `assay check` runs, without its command line: `assay adopt` runs it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/device.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/report_data.hpp"
#include "reports/out/run_seed.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

/// The groups that need the properties or a second process of this program.
std::vector<conformance::Group> groups_of_programs();

/// What a command is asked that judges kernels: `assay check`, and `assay adopt`, whose first step is one.
struct JudgeOptions {
  FrameOptions frame;
  TargetOptions targets;
  RunSeed seed;
  conformance::ConformanceOptions run;
  std::string op, require;
  bool quick = false, full = false, accept_limits = false, shared = false;
  int device = 0;
};

/// What the adopter said of the kernel in his own words.
struct Asked {
  std::string declared;  // --declare
  std::string required;  // the region of --require; empty: the usual one
  bool entry = false;    // --entry: what a source's adapter declares follows from his own words
};

/// Chooses the machine, and settles what the options say together. Throws InputError.
Asked settle_options(JudgeOptions& o);
/// The kernels that are named. Throws InputError if two of them have one key; then `one_at_a_time`, a verb,
/// says what to do.
std::vector<Target> distinct_targets(const JudgeOptions& o, const std::string& one_at_a_time);
/// Draws the seed where none is given, once the kernels' bytes are known: nobody can fit a kernel to its
/// inputs.
void settle_seed(JudgeOptions& o, const std::filesystem::path& out);

/// Judges every target, and searches the contract of those that come from elsewhere. `quick` goes into the
/// data.
ReportData run_check(const std::vector<Target>& targets, const conformance::ConformanceOptions& run,
                     bool quick, const Asked& asked);

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
