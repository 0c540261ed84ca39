// SPDX-License-Identifier: Apache-2.0
#include "reports/records/about.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "accuracy/functions/result_fields.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"
#include "reports/records/report_fields.hpp"

namespace assay {

template <IsA<FunctionsReport> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("environment", r.environment);
  visit("functions", r.functions);
  visit("pairs", r.pairs);
  visit.if_set("quotients", r.quotients);
  visit("seconds", r.seconds);
}

std::string render_functions_json(const FunctionsReport& r) { return fields_to_json(r).dump(1) + "\n"; }

FunctionsReport functions_from_json(const nlohmann::json& j) { return fields_from_json<FunctionsReport>(j); }

FunctionsReport read_functions(const std::filesystem::path& file) {
  try {
    return functions_from_json(parse_json(read_file(file)));
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file.string() + ": is not a functions.json: " + plain_words(e));
  } catch (const InputError& e) {
    throw InputError(file.string() + ": " + e.what());
  }
}

namespace {

constexpr const char* kFormat = "assay about 1";

template <IsA<ReportData> R, class Visit>
void fields_of_about(R& r, Visit& visit) {
  visit("environment", r.environment);
  visit("keys", r.keys);
  visit("families", r.families);
  visit("profiles", r.profiles);
  visit("oracle", r.oracle);
  visit("planned", r.planned);
  visit("executed", r.executed);
  visit("seconds", r.seconds);
  visit("quick", r.quick);
  visit.if_set("part", r.part);
}

}  // namespace

std::string render_about(const ReportData& data) {
  FieldWriter w;
  w("format", std::string(kFormat));
  fields_of_about(data, w);
  nlohmann::json& contracts = w.j["contracts"] = nlohmann::json::object();
  for (const auto& [key, contract] : data.contracts) contracts[key] = fields_to_json(contract);
  if (data.functions) w.j["functions"] = nlohmann::json::parse(render_functions_json(*data.functions));
  return w.j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ReportData about_from_text(const std::string& text, const std::string& file) {
  try {
    const nlohmann::json j = parse_json(text);
    std::string format;
    const FieldReader r{j};
    r("format", format);
    if (format != kFormat) throw InputError("format " + quoted_word(format) + " is not known");
    ReportData data;
    fields_of_about(data, r);
    for (const auto& [key, contract] : j.at("contracts").items())
      data.contracts[key] = fields_from_json<conformance::Contract>(contract);
    if (j.contains("functions")) data.functions = functions_from_json(j.at("functions"));
    return data;
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file + ": is not an about.json: " + plain_words(e));
  } catch (const InputError& e) {
    throw InputError(file + ": " + e.what());
  }
}

void remove_old_contracts(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kContractFile;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return;
  const nlohmann::json j = nlohmann::json::parse(read_file(file), nullptr, false);
  const bool ours = j.is_object() && std::all_of(j.begin(), j.end(), [](const nlohmann::json& one) {
                      return one.is_object() && one.contains("within") && one.contains("axes");
                    });
  if (!ours) return;
  std::filesystem::remove(file, error);
  if (error) throw InputError(file.string() + ": cannot be removed: " + error.message());
}

ReportData read_about(const std::filesystem::path& file) {
  return about_from_text(read_file(file), file.string());
}

}  // namespace assay
