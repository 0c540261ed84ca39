// Runs a plan: the group `families` of `assay check` over the registry, in this process.
#pragma once

#include <functional>
#include <string>

#include "reports/data/report_data.hpp"
#include "reports/runs/plan.hpp"

namespace assay {

struct RunOptions {
  int threads = 0;  // 0: one per core
  std::function<void(std::int64_t done, std::int64_t planned)>
      progress;        // called from any thread, serialised
  bool probes = true;  // every key is probed and its records say what it behaves like, some 50 ms a key
};

/// Never throws for a failing kernel; throws InputError for broken data files.
ReportData run_report(const Plan& plan, const Selection& selection, const RunOptions& options);

/// What assay list shows of a key.
KeyInfo key_info(const Variant& v);

}  // namespace assay
