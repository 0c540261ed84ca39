// SPDX-License-Identifier: Apache-2.0
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
      progress;        // called from any thread, one call at a time
  Kept kept = {};      // where finished records are kept
  bool probes = true;  // probe every key, to record what it behaves like; some 50 ms per key
};

/// A failing kernel never makes it throw. Throws InputError for broken data files.
ReportData run_report(const Plan& plan, const Selection& selection, const RunOptions& options);

/// The description of a key for assay list.
KeyInfo key_info(const Variant& v);

}  // namespace assay
