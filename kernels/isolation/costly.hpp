// SPDX-License-Identifier: Apache-2.0
// Launchers whose workers are expensive to start.
#pragma once

namespace assay {

class CostlyLauncher {
 public:
  virtual ~CostlyLauncher() = default;
  /// How many parallel workers are worth their start. 0: as many as there are threads.
  virtual int most_workers() const = 0;
};

}  // namespace assay
