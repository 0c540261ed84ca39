// The sweep in a few lines: for the head of the page, for terminals, and as sweep.md.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep_page/context.hpp"

namespace assay {

/// sweep.md: verdict, machine, what is seen, the paper's claims and the fastest right kernels.
std::string sweep_summary(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses);

namespace speed {

/// What the run shows in sentences, plain text; empty where it shows nothing.
std::vector<std::string> headlines(const Context& c);

}  // namespace speed
}  // namespace assay
