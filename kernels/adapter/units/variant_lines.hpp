// SPDX-License-Identifier: Apache-2.0
// The ASSAY_VARIANT lines of a file. The file is compiled as it is without them, and they come behind it, so
// that nothing in the file can know that they are there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// True if the file includes <assay/variant.h> itself. Then it registers itself wherever it is compiled.
bool includes_variant_header(std::string_view text);

/// What stands between `#ifdef ASSAY_VARIANT` and its #endif, with those two lines. Every line keeps its
/// number, and all others are empty. Throws InputError if something stands there that is no ASSAY_VARIANT
/// line and no macro: it would be in the file only when it is judged. `source`: the file's name in messages.
std::string variant_lines(std::string_view text, const std::string& source);

/// Registers the variants of `lines` behind the file. `headers`: the folder of this project's headers.
/// `suffix` ends the names that the text exports, as in call_source.hpp.
std::string registration_source(const std::string& lines, const std::string& source,
                                const std::filesystem::path& headers, const std::string& suffix, bool host);

}  // namespace assay
