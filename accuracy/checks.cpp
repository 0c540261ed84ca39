#include "accuracy/checks.hpp"

namespace assay {

const char* name(Check c) {
  static constexpr const char* names[] = {"launch",  "guard",      "inputs",     "written",  "special",
                                          "element", "coherence",  "row_sum",    "monotone", "range",
                                          "argmax",  "normalizer", "indices",    "order",    "gather",
                                          "repeat",  "claim",      "late_write", "max_ulp"};
  static_assert(sizeof names / sizeof *names == kChecks);
  return names[static_cast<int>(c)];
}

Tally::Tally() {
  for (int c = 0; c < kChecks; ++c) results_[static_cast<std::size_t>(c)].name = name(static_cast<Check>(c));
}

std::int64_t Tally::failed() const {
  std::int64_t n = 0;
  for (const CheckResult& r : results_) n += r.failed;
  return n;
}

std::int64_t Tally::undecided() const {
  std::int64_t n = 0;
  for (const CheckResult& r : results_) n += r.undecided;
  return n;
}

std::vector<CheckResult> Tally::results() const {
  std::vector<CheckResult> out;
  for (const CheckResult& r : results_)
    if (r.judged > 0) out.push_back(r);
  return out;
}

std::string Tally::failed_names() const {
  std::string s;
  for (const CheckResult& r : results_)
    if (r.failed > 0) s += (s.empty() ? "" : ", ") + r.name;
  return s;
}

}  // namespace assay
