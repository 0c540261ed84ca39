// SPDX-License-Identifier: Apache-2.0
#include "reports/data/key_conformance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reports/data/conformance_text.hpp"
#include "reports/data/html.hpp"

namespace assay {
namespace {

KeyConformance::Finding owned(const conformance::Finding& f) {
  KeyConformance::Finding out;
  out.status = f.status, out.group = f.group, out.checks = f.checks, out.where = f.where;
  out.vague = f.vague;
  out.also = fmt::format("{}", fmt::join(f.also, ", "));
  out.likely = f.likely, out.detail = f.detail, out.failed = f.failed, out.of = f.of;
  if (offers_class(f)) out.nearest = f.first->behaves_like;
  out.declares = f.declares;
  out.passes_alone = f.passes_alone, out.reproduce = f.first->reproduce;
  return out;
}

KeyConformance::FailingCase failing_case(const Record& r) {
  const CheckResult* const check = first_failed(r);
  const std::string detail =
      check && !check->detail.empty() ? std::string(name(check->check)) + ": " + check->detail : r.reason;
  return {r, r.op, r.group, r.family, r.setup.text(), shorten(detail, 200), r.reproduce, r.status};
}

}  // namespace

std::vector<GroupTally> tally_groups(const std::vector<Record>& records) {
  std::vector<GroupTally> out;
  for (const Record& r : records) {
    auto at = std::find_if(out.begin(), out.end(), [&](const GroupTally& g) { return g.group == r.group; });
    if (at == out.end()) {
      at = out.insert(out.end(), GroupTally());
      at->group = r.group;
    }
    std::int64_t& count = (*at)[r.status];
    count += cases_in(r);
    if (count == 1 && r.status == Status::unsupported) at->unsupported_reason = r.reason;
  }
  return out;
}

std::string lengths_tried(const std::vector<Record>& records) {
  constexpr std::int64_t kTo = 4096;  // the whole check tries all lengths up to this
  std::set<std::int64_t> tried, longer;
  std::int64_t rows = 0;
  int k = 0;
  bool came_back = false;
  for (const Record& r : records) {
    came_back = came_back || r.status == Status::pass;
    if (r.V < 1 || r.rows < 1 || r.family == kProbeFamily || r.status == Status::not_run ||
        r.status == Status::unsupported)
      continue;
    for (const std::int64_t V : lengths_in(r)) (V <= kTo ? tried : longer).insert(V);
    k = std::max(k, r.k);
    // The group `big` judges only a few of its rows. A launch of many rows that hung or crashed shows nothing
    // of them: often a few rows were launched first, and these never came back.
    if (r.group != "big" && r.status != Status::hung && r.status != Status::crashed)
      rows = std::max(rows, r.rows);
  }
  const std::span<const conformance::Vocabulary> known = conformance::vocabularies();
  return fmt::format("{} of {} row lengths to {} and {} of {} vocabularies were tried, and {}{}",
                     grouped(static_cast<std::int64_t>(tried.size())), grouped(kTo), grouped(kTo),
                     std::ranges::count_if(known, [&](const auto& v) { return longer.contains(v.V); }),
                     known.size(),
                     rows > 0    ? "up to " + grouped(rows) + " rows"
                     : came_back ? "no launch with an element"
                                 : "no launch came back",
                     k > 0 ? fmt::format(", k to {}", k) : "");
}

KeyConformance conformance_of(const std::vector<Record>& records) {
  KeyConformance out;
  if (records.empty()) return out;
  out.groups = tally_groups(records);
  out.lengths_tried = lengths_tried(records);
  for (const Record& r : records) {
    if (r.status == Status::pass || r.status == Status::unsupported || r.status == Status::not_run) continue;
    if (++out.failing_cases <= static_cast<std::int64_t>(KeyConformance::kMostCases))
      out.failing.push_back(failing_case(r));
  }
  if (out.failing_cases == 0) return out;
  for (const conformance::Finding& f : conformance::diagnose(records)) {
    if (out.findings.size() == KeyConformance::kMostFindings) break;
    out.findings.push_back(owned(f));
  }
  return out;
}

}  // namespace assay
