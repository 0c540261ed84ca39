// SPDX-License-Identifier: Apache-2.0
// functions.json, written and read.
#include <nlohmann/json.hpp>

#include "accuracy/functions/result_fields.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"

namespace assay {

using nlohmann::json;

template <IsA<FunctionsReport> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("environment", r.environment);
  visit("functions", r.functions);
  visit("pairs", r.pairs);
  visit.if_set("quotients", r.quotients);
  visit("seconds", r.seconds);
}

std::string render_functions_json(const FunctionsReport& r) { return fields_to_json(r).dump(1) + "\n"; }

FunctionsReport functions_from_json(const json& j) { return fields_from_json<FunctionsReport>(j); }

FunctionsReport read_functions(const std::filesystem::path& file) {
  try {
    return functions_from_json(parse_json(read_file(file)));
  } catch (const json::exception& e) {
    throw InputError(file.string() + ": is not a functions.json: " + plain_words(e));
  } catch (const InputError& e) {
    throw InputError(file.string() + ": " + e.what());
  }
}

}  // namespace assay
