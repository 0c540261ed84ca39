// SPDX-License-Identifier: Apache-2.0
// From what the steps gave to a certificate: the kernels, the cases that can be replayed, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/record.hpp"
#include "kernels/registry.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

/// The kernel as it says what it is.
AdoptedKernel described(const Variant& v);

/// What the check found of one kernel. `data` may hold others too.
CertifiedKernel certified_kernel(const AdoptedKernel& adopted, const ReportData& data);

/// The cases that go into the certificate: of every kernel the worst ones, then others that are spread over
/// all groups. The same for the same records.
std::vector<CertifiedCase> cases_to_replay(const std::vector<Record>& records);

/// True for a case of which a certificate may say that it can be replayed: of a group that gives the same
/// record alone, and small enough.
bool may_be_replayed(const std::string& group, std::int64_t rows, std::int64_t V);

/// The step of the check.
CertifiedStep check_step(const ReportData& data, std::uint64_t seed);

/// What the check left open: groups that could not run, inputs that were left out, no sandbox.
std::vector<std::string> open_after_check(const Certificate& c, const ReportData& data);

/// "failed checks: element (12 of 3,000 comparisons), row_sum (...)"; empty if none failed.
std::string failed_checks(const CertifiedKernel& k);

/// Empty, or a speed of the certificate that no kernel has on the machine on which it was measured, or a case
/// that passed beyond a bound.
std::string impossible_figure(const Certificate& c);

/// What the contract of a kernel without limits says.
inline constexpr const char* kWithoutLimits = "rows >= 1; V >= 1";

/// Less than half of the cases that every caller relies on are within the limits of a kernel from elsewhere.
bool little_of_core(const CertifiedKernel& k);

/// The verdict that the counts of a kernel make.
Verdict verdict_of_kernel(const CertifiedKernel& k);

/// Sets verdict, reason, exit status, and adds to `not_proved` each step that did not run. PASS only if the
/// check passed, at least one case passed, no other step failed or was left undecided, and every speed is
/// possible. JUDGED IN PART if
/// all that holds, and most cases of a kernel were too coarse to be judged.
void conclude(Certificate& c, bool accept_limits);

}  // namespace assay
