// SPDX-License-Identifier: Apache-2.0
// The page's matrix of error/bound, its list of bounds that test nothing, and its table of claims, on
// synthetic records.
#include "reports/runs/utilisation.hpp"

#include <gtest/gtest.h>

#include "accuracy/verdict/behaves_like.hpp"
#include "reports/page/page.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

using namespace test_data;

TEST(Utilisation, TakesTheLargestOfAClassOverKeysAndFamilies) {
  ReportData data = synthetic();
  for (Record& r : data.records)
    for (CheckResult& c : r.checks) c.utilisation = c.check == Check::row_sum ? 5e-4 : 0.25;
  for (Record& r : data.records)
    if (r.variant == "safe_block" && r.family == "normal_1" && r.V == 33)
      for (CheckResult& c : r.checks)
        if (c.check == Check::row_sum) c.utilisation = 0.5;
  int rows = 0;
  for (const ClassUtilisation& u : class_utilisation(data)) {
    EXPECT_GT(u.judged, 0);
    if (u.check != "row_sum") continue;
    ++rows;
    const bool safe = u.kind.starts_with("safe, exp accurate");
    EXPECT_EQ(u.largest.value, safe ? 0.5 : 5e-4) << u.kind;
    if (safe) {
      EXPECT_EQ(u.largest.V, 33);
    }
  }
  EXPECT_GT(rows, 5);
  const std::string html = all_pages(data);
  EXPECT_NE(html.find("<b>defect of the bound</b>: online, exp accurate"), std::string::npos);
  EXPECT_EQ(html.find("<b>defect of the bound</b>: safe, exp accurate"), std::string::npos);
}

TEST(Utilisation, ColoursWhatFailsAndWhatIsSharp) {
  ReportData data = synthetic();
  Record& r = first_passing(data);
  r.status = Status::fail, r.max_bound_ratio = 1.25;
  const std::string html = all_pages(data);
  EXPECT_NE(html.find("<td class=\"u-over\" data-v=\"1.25\" title=\"" + r.key + ", " + r.family),
            std::string::npos);
  EXPECT_NE(html.find("<td class=\"u-sharp\""), std::string::npos);
}

TEST(Utilisation, EveryKeyShowsItsClaimAndWhatItBehavesLike) {
  ReportData data = synthetic(1, {"host"});
  data.families.push_back({kProbeFamily, kProbeWhy});
  for (KeyInfo& k : data.keys) {
    k.claimed = "claimed by " + k.key;
    Record r;
    r.key = k.key, r.variant = k.variant, r.dtype = k.dtype, r.backend = k.backend, r.op = k.op;
    r.family = kProbeFamily, r.V = 131071, r.rows = 1, r.rows_judged = 1;
    r.status = Status::pass, r.behaves_like = "like " + k.key;
    r.checks = {{Check::claim, 100, 0, 0, 0, ""}};
    r.evidence = {"division: division ieee, sharper than claimed; 9 quotients <&>"};
    r.probes = {{"division", "division ieee", true, 0, "", "9 quotients <&>"}};
    if (k.variant == "safe_block") {
      r.status = Status::fail, r.reason = "failed: claim", r.checks[0].failed = 7;
      r.evidence.push_back("sum_exp: exp fast; the claim is refuted 7 times of 9: 1 is 2");
      r.probes.push_back({"sum_exp", "exp fast", false, 7, "", ""});
    }
    data.records.push_back(r);
    ++data.planned, ++data.executed;
  }
  const std::string html = all_pages(data);
  for (const KeyInfo& k : data.keys) {
    EXPECT_NE(html.find("claimed by " + k.key), std::string::npos);
    EXPECT_NE(html.find("like " + k.key), std::string::npos);
  }
  EXPECT_NE(html.find("sharper than claimed: division ieee"), std::string::npos);
  EXPECT_NE(html.find("<li class=\"bad\">sum_exp"), std::string::npos);
  EXPECT_NE(html.find("93 of 100 consequences"), std::string::npos);
  EXPECT_NE(html.find("9 quotients &lt;&amp;&gt;"), std::string::npos);
}

}  // namespace
}  // namespace assay
