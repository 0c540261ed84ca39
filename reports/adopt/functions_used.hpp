// SPDX-License-Identifier: Apache-2.0
// Which exp, log and division a kernel claims to use, or its source names, as functions that `assay
// functions` tests.
#pragma once

#include <string>
#include <vector>

#include "accuracy/functions/functions.hpp"

namespace assay {

struct FunctionsUsed {
  std::vector<const functions::Function*> all;
  std::string why_none = {};               // why nothing can be said of them
  std::vector<std::string> untested = {};  // what a source names, and is not tested on its own
};

/// By its claim. Nobody knows which functions a kernel from elsewhere uses: its claim only says how accurate
/// they are.
FunctionsUsed functions_used(const Variant& v);

/// Those that the source of a kernel from elsewhere names. A division is a "/", with or without a constant 1
/// before it. `flags`: of nvcc; --use_fast_math puts faster functions in the place of some.
FunctionsUsed functions_named(const Variant& v, const std::vector<std::string>& texts,
                              const std::string& flags);

}  // namespace assay
