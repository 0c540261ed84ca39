// The same kernel at other types, in the same process: what one of them leaves behind, the other finds.
#pragma once

#include <functional>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {

/// A Launcher whose worker holds more than one kernel.
class SiblingLauncher {
 public:
  virtual ~SiblingLauncher() = default;
  /// Variants of the same name and op at other types, with launchers of the same worker.
  virtual std::vector<Variant> siblings() const = 0;
  /// What is done to each of them: the author's word on this variant is his word on those.
  virtual void declare_siblings(std::function<void(Variant&)> declare) = 0;
};

}  // namespace assay
