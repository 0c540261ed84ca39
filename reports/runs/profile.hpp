// SPDX-License-Identifier: Apache-2.0
// Collects an error profile while a record is judged: errors by |x - m|, and signed errors.
#pragma once

#include "accuracy/judge/row_judge.hpp"
#include "reports/data/report_data.hpp"

namespace assay {

class ProfileObserver : public ElementObserver {
 public:
  explicit ProfileObserver(Profile& profile);
  void element(double distance, double ulp_error, double signed_ulp, double bound_ulp) override;
  void restart() override;
  /// Turns sums into means, drops empty bins, and bins the signed errors up to a limit that holds nearly all.
  void finish() override;

 private:
  Profile& profile_;
  std::vector<float> signed_;
};

/// True for the cases whose profiles the page draws: real logits, and the families with the widest range.
bool profiled(const std::string& family, std::int64_t V);

}  // namespace assay
