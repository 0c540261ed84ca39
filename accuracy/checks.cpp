// SPDX-License-Identifier: Apache-2.0
#include "accuracy/checks.hpp"

namespace assay {

Tally::Tally() {
  for (int c = 0; c < kChecks; ++c) results_[static_cast<std::size_t>(c)].check = static_cast<Check>(c);
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
    if (r.failed > 0) s += (s.empty() ? "" : ", ") + std::string(name(r.check));
  return s;
}

}  // namespace assay
