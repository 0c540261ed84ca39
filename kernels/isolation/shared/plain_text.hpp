// SPDX-License-Identifier: Apache-2.0
// What a kernel printed, as text that may go to a terminal or into a record.
#pragma once

#include <string>
#include <string_view>

namespace assay::isolation {

/// The text without escape sequences. Other control characters, but for line breaks, become blanks. Bytes
/// that are no UTF-8 become U+FFFD.
std::string plain_text(std::string_view text);

}  // namespace assay::isolation
