// SPDX-License-Identifier: Apache-2.0
// The same kernel at other types, in the same process. What one of them leaves behind, another may find.
#pragma once

#include <functional>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {

/// A Launcher whose worker holds more than one kernel.
class SiblingLauncher {
 public:
  virtual ~SiblingLauncher() = default;
  /// Variants of the same name and op at other types. Their launchers use the same worker.
  virtual std::vector<Variant> siblings() const = 0;
  /// Applies `declare` to each of them: what the author declares for this variant holds for them too.
  virtual void declare_siblings(std::function<void(Variant&)> declare) = 0;
};

}  // namespace assay
