// SPDX-License-Identifier: Apache-2.0
// For tests that run reports. No error may be larger than the worst case at the top of the variant's file.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "kernels/registry.hpp"
#include "reports/data/files.hpp"
#include "reports/data/report_data.hpp"
#include "reports/data/worst_case.hpp"

namespace assay {

inline void expect_within_heads(const ReportData& data) {
  for (const KeyInfo& k : data.keys) {
    const std::filesystem::path file = find_variant(k.key)->file;
    const HeadOfFile head = head_of_file(read_file(ASSAY_SOURCE_DIR / file));
    for (const WorstCase& seen : worst_cases_of(data.records, k.variant, k.op)) {
      if (seen.backend != k.backend || seen.dtype != k.dtype) continue;
      double most = seen.backend == name(Backend::host) ? 0 : INFINITY;  // other backends may be missing
      for (const WorstCase& w : head.worst)
        if (w.backend == k.backend) most = w.ulp;
      EXPECT_LE(seen.ulp, most) << file << ": a worse case was seen:\n" << head_line(seen);
    }
  }
}

}  // namespace assay
