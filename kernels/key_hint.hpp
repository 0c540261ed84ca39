// SPDX-License-Identifier: Apache-2.0
// What a mistyped key may have meant.
#pragma once

#include <string>
#include <string_view>

namespace assay {

/// "; did you mean online_block/f32@host?", for the end of an error message. Empty if no key is near.
std::string did_you_mean_key(std::string_view typed);

}  // namespace assay
