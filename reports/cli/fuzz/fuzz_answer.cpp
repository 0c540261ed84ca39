#include "reports/cli/fuzz/fuzz_answer.hpp"

#include <algorithm>

#include "reports/data/environment.hpp"

namespace assay {

VerdictCase not_searched(const std::string& key, const std::string& why) {
  return {.suite = key, .name = "search", .outcome = CaseOutcome::skipped, .records = 0, .message = why};
}

VerdictDocument fuzz_document(std::vector<VerdictCase> cases, std::string verdict, int status,
                              std::string reason) {
  VerdictDocument d;
  d.command = "fuzz";
  d.verdict = std::move(verdict);
  d.exit_status = status;
  d.reason = std::move(reason);
  d.environment = environment();
  const auto count = [&](auto is) {
    return static_cast<std::int64_t>(std::count_if(cases.begin(), cases.end(), is));
  };
  d.counts = {
      {"searched",
       count([](const VerdictCase& c) { return c.name == "search" && c.outcome == CaseOutcome::passed; })},
      {"findings",
       count([](const VerdictCase& c) { return c.outcome == CaseOutcome::failed && c.name != "search"; })},
      {"not_run", count([](const VerdictCase& c) { return c.outcome == CaseOutcome::skipped; })}};
  d.cases = std::move(cases);
  return d;
}

}  // namespace assay
