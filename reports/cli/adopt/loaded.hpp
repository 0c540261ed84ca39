// SPDX-License-Identifier: Apache-2.0
// What a kernel has loaded while it was judged: in the certificate, and compared by `assay verify`.
#pragma once

#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

/// Adds to the files the libraries, modules and data files that the workers have loaded.
void certify_loaded(AdoptionCall& c, const std::vector<Target>& targets);

/// The unusual functions that the binary imports, as the fact "imports" says them; empty if there is none.
std::string imports_of(const std::vector<Target>& targets);

/// Empty, or the first library, module or data file of the certificate that is of other contents now. Loads
/// nothing.
std::string changed_loaded(const Certificate& c);

/// After cases were replayed: what was loaded now and is not in the certificate.
std::vector<std::string> not_certified(const Certificate& c, const std::vector<Target>& targets);

}  // namespace assay
