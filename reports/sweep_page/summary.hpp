// SPDX-License-Identifier: Apache-2.0
// The sweep in a few lines: for the head of the page, for terminals, and for sweep.md.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep_page/context.hpp"

namespace assay {

/// The text of sweep.md: verdict, machine, main results, the paper's claims, and the fastest right kernels.
std::string sweep_summary(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                          const std::vector<SplitRecord>& splits = {});

namespace speed {

/// The main results as sentences in plain text; empty if there are none.
std::vector<std::string> headlines(const Context& c);

}  // namespace speed
}  // namespace assay
