// SPDX-License-Identifier: Apache-2.0
// The results of `assay functions` as data, and their three forms: functions.json, terminal text, page.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/functions/function_result.hpp"
#include "accuracy/functions/pairs.hpp"

namespace assay {

struct FunctionsReport {
  std::vector<std::pair<std::string, std::string>> environment;  // pairs of label and value
  std::vector<FunctionResult> functions;                         // including not_run ones
  std::vector<PairResult> pairs;                                 // two-element softmaxes
  std::optional<QuotientSweep> quotients;                        // a row divided by one divisor
  double seconds = 0;
};

/// False for a sample, and for a division of f32 numbers, which has too many pairs.
bool on_every_argument(const FunctionResult& f);
/// True if at least one function or variant ran.
bool functions_ran(const FunctionsReport& r);
/// True if at least one function or variant ran, and all that ran passed.
bool functions_passed(const FunctionsReport& r);
/// PASS, FAIL, or NOT RUN.
std::string functions_word(const FunctionsReport& r);
/// Says how many pairs were tried and how many quotients were wrong.
std::string quotients_sentence(const QuotientSweep& q);
/// "12 functions, 9 exhaustive, ...": the line after PASS or FAIL.
std::string functions_verdict(const FunctionsReport& r);

/// What a report measures itself: every argument of the device's functions (this takes seconds), and every
/// 997th of the host's. The latter is labelled as a sample.
FunctionsReport quick_functions();

std::string render_functions_json(const FunctionsReport& r);
/// Of what render_functions_json wrote. Throws InputError or json::exception.
FunctionsReport functions_from_json(const nlohmann::json& j);
/// Reads what render_functions_json wrote. Throws InputError that names the file.
FunctionsReport read_functions(const std::filesystem::path& file);
/// First the verdict, then the worst causes with their commands, then the table.
std::string render_functions_terminal(const FunctionsReport& r, const std::string& page);
/// The results as a separate page.
std::string render_functions_page(const FunctionsReport& r);

}  // namespace assay
