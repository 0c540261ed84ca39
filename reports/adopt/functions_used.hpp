// SPDX-License-Identifier: Apache-2.0
// Which exp, log and division a kernel claims to use, as functions that `assay functions` tests.
#pragma once

#include <string>
#include <vector>

#include "accuracy/functions/functions.hpp"

namespace assay {

struct FunctionsUsed {
  std::vector<const functions::Function*> all;
  std::string why_none = {};  // why nothing can be said of them
};

/// Nobody knows which functions a kernel from elsewhere uses: its claim only says how accurate they are.
FunctionsUsed functions_used(const Variant& v);

}  // namespace assay
