// Launchers whose workers cost much to start.
#pragma once

namespace assay {

class CostlyLauncher {
 public:
  virtual ~CostlyLauncher() = default;
  /// Workers beside each other that are worth their start; 0: as many as there are threads.
  virtual int most_workers() const = 0;
};

}  // namespace assay
