// What `assay functions` found, as one piece of data, and its three forms: functions.json, the terminal, the
// page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/functions/function_result.hpp"
#include "accuracy/functions/pair_softmax.hpp"
#include "accuracy/functions/quotient_sweep.hpp"

namespace assay {

struct FunctionsReport {
  std::vector<std::pair<std::string, std::string>> environment;  // label, value
  std::vector<FunctionResult> functions;                         // not_run ones included
  std::vector<PairResult> pairs;                                 // two-element softmaxes
  std::optional<QuotientSweep> quotients;                        // a row divided by one divisor
  double seconds = 0;
};

/// At least one function or variant ran, and every one that ran passed.
bool functions_passed(const FunctionsReport& r);
/// How many pairs were tried and how many quotients were wrong.
std::string quotients_sentence(const QuotientSweep& q);
/// "12 functions, 9 exhaustive, ...": one line behind PASS or FAIL.
std::string functions_verdict(const FunctionsReport& r);

/// What a report measures by itself: every argument of the device's functions (seconds), and every 997th of
/// the host's, which is a sample and labelled so.
FunctionsReport quick_functions();

std::string render_functions_json(const FunctionsReport& r);
/// Reads what render_functions_json wrote. Throws InputError naming the file.
FunctionsReport read_functions(const std::filesystem::path& file);
/// Verdict first, then the worst causes with their commands, then the table.
std::string render_functions_terminal(const FunctionsReport& r, const std::string& page);
/// A page of its own.
std::string render_functions_page(const FunctionsReport& r);

}  // namespace assay
