// SPDX-License-Identifier: Apache-2.0
// JSON from files, with errors in plain words: the library's own texts name its exceptions and quote whatever
// bytes it has met.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

/// Throws InputError: "is not JSON: line 3, column 14".
nlohmann::json parse_json(const std::string& text);
/// The same for one line of a file, whose number the caller says: "is not JSON: column 14".
nlohmann::json parse_json_line(const std::string& line);

/// What an exception of the library means: "key 'V' not found", "type must be number, but is string".
std::string plain_words(const nlohmann::json::exception& e);

}  // namespace assay
