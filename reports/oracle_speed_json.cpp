#include "reports/oracle_speed_json.hpp"

#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/files.hpp"

namespace assay {

using nlohmann::json;

std::string oracle_speed_json(const std::vector<OracleSpeed>& measured, const std::string& family,
                              const std::vector<std::pair<std::string, std::string>>& environment) {
  json file = {{"family", family}, {"environment", json::array()}, {"measured", json::array()}};
  for (const auto& [label, value] : environment) file["environment"].push_back({label, value});
  for (const OracleSpeed& s : measured)
    file["measured"].push_back({{"key", s.key},
                                {"tier", s.tier},
                                {"where", s.where},
                                {"rows", s.rows},
                                {"V", s.V},
                                {"elements", s.judgement.elements},
                                {"seconds", s.seconds},
                                {"runs", s.runs},
                                {"elements_per_second", s.elements_per_second()},
                                {"escalated", s.escalated()},
                                {"by_mpfr", s.judgement.by_mpfr},
                                {"failed", s.judgement.failed},
                                {"max_ulp", s.judgement.statistics.max_ulp},
                                {"max_bound_ratio", s.judgement.statistics.utilisation},
                                {"rounding_undecided", s.judgement.statistics.rounding_undecided}});
  return file.dump(1) + "\n";
}

OracleSpeedFile read_oracle_speed(const std::string& path) {
  const std::string text = read_file(path);
  try {
    const json file = json::parse(text);
    OracleSpeedFile f;
    f.family = file.at("family").get<std::string>();
    for (const json& e : file.at("environment"))
      if (e.at(0) == "GPU" || (f.machine.empty() && e.at(0) == "CPU")) f.machine = e.at(1).get<std::string>();
    for (const json& m : file.at("measured"))
      f.rows.push_back({m.at("key").get<std::string>(), m.at("tier").get<std::string>(),
                        m.at("where").get<std::string>(), m.at("rows").get<std::int64_t>(),
                        m.at("V").get<std::int64_t>(), m.at("elements_per_second").get<double>(),
                        m.at("escalated").get<double>(), m.at("failed").get<std::int64_t>()});
    return f;
  } catch (const json::exception& e) {
    throw InputError(path + ": not a file of assay sweep oracle: " + e.what());
  }
}

}  // namespace assay
