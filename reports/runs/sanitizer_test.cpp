// SPDX-License-Identifier: Apache-2.0
// The small set that ./run test --all repeats under ASan+UBSan and under TSan: every host kernel on rows that
// exercise its tails, barriers and special values, and the report driver on two threads. Under TSan a missing
// barrier in a kernel is a data race here.
#include <gtest/gtest.h>

#include "accuracy/verdict/checker.hpp"
#include "reports/data/summary.hpp"
#include "reports/runs/report.hpp"

namespace assay {
namespace {

TEST(SanitizerSmall, EveryHostKernelRunsCleanAndPasses) {
  for (const char* family : {"normal_1", "inf_thread"}) {
    for (const std::int64_t V : {1, 33, 600}) {
      for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
        const Case c(*find_family(family), dtype, V, 3, 1);
        for (const Variant& v : registry()) {
          // Causal kernels need squares: see below.
          if (v.backend != Backend::host || v.dtype != dtype || v.claim.causal != Causal::no) continue;
          const Record r = check_case(v, c, v.op, 3);
          EXPECT_TRUE(r.status == Status::pass || r.status == Status::unsupported)
              << r.reproduce << ": " << r.reason;
        }
      }
    }
  }
}

TEST(SanitizerSmall, CausalKernelsRunCleanAndPass) {
  for (const std::int64_t V : {1, 33, 70})
    for (const Variant& v : registry()) {
      if (v.backend != Backend::host || v.claim.causal == Causal::no) continue;
      const Record r = check_case(v, Case(*find_family("normal_1"), v.dtype, V, 2 * V, 1), v.op, 0);
      EXPECT_EQ(r.status, Status::pass) << r.reproduce << ": " << r.reason;
    }
}

TEST(SanitizerSmall, ReportOnTwoThreads) {
  Selection s;
  s.keys = {"online_*/f32@host", "safe_then_topk/f16@host"};
  s.families = {"normal_10", "nan", "spike", "overflow"};
  s.sizes = {31, 129};
  s.rows = 2;
  const ReportData data = run_report(make_plan(s), s, {2, {}, {}, false});
  EXPECT_TRUE(report_passed(data)) << render_summary_terminal(data, "");
}

}  // namespace
}  // namespace assay
