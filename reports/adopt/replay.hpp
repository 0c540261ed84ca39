// SPDX-License-Identifier: Apache-2.0
// What `assay verify` compares: the bytes of the kernel's files, and cases that ran again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "reports/adopt/certificate.hpp"

namespace assay {

/// A file that the kernel loaded while it was judged (reports/cli/adopt/loaded.hpp). What is named and
/// compiled is compared by differing_file.
bool is_loaded(const CertifiedFile& file);

/// Which file is another one: "binary libmine.so: its SHA-256 is 12ab..., and was 34cd...". Empty: none is.
/// `now`: the same files as they are now. `rebuilt`: a binary may be another build of the same source. A file
/// that is there now must have a hash in the certificate.
std::string differing_file(const std::vector<CertifiedFile>& then, const std::vector<CertifiedFile>& now,
                           bool rebuilt);

/// All of the worst cases, and as many others as are missing to `count`, drawn by the seed.
std::vector<const CertifiedCase*> sample_of(const std::vector<CertifiedCase>& cases, std::size_t count,
                                            std::uint64_t seed);

/// What must agree. bits: every figure. verdicts: status, failed check and the number of judged rows; the
/// bounds of the verdict are all that limits a figure on another machine.
enum class Agreement { bits, verdicts };

/// The figure in words; "none" if there is none.
std::string figure_text(const std::optional<double>& v);
/// Every bit is equal; NaN is equal to NaN.
bool same_figure(const std::optional<double>& a, const std::optional<double>& b);

/// Empty, or how the case that ran again differs: "max_ulp was 1.25, and is 1.5".
std::string difference(const CertifiedCase& then, const Record& now, Agreement how);

}  // namespace assay
