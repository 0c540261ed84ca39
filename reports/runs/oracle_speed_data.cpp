// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/oracle_speed_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/device.hpp"
#include "kernels/key_hint.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/text.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/records/report_fields.hpp"

namespace assay {

using nlohmann::json;

namespace {

/// Enough rows to exceed a GPU's cache several times when repeated, and few enough for a host to make in
/// seconds.
std::int64_t default_rows(std::int64_t V) { return std::max<std::int64_t>(1, (std::int64_t{1} << 22) / V); }
constexpr std::int64_t kDeviceElements = std::int64_t{1} << 28;

/// What was measured, as the page has it: the rest of a line in oracle.json is written and not read.
OracleSpeedRow row_of(const OracleSpeed& s) {
  return {s.key, s.tier, s.where, s.rows, s.V, s.elements_per_second(), s.escalated(), s.judgement.failed};
}

std::string machine_of(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string machine;
  for (const auto& [label, value] : environment)
    if (label == "CPU" || label == "GPU") machine += (machine.empty() ? "" : "; ") + value;
  return machine;
}

}  // namespace

std::vector<OracleSpeed> measure_oracle_speed(const std::vector<std::string>& keys, const std::string& family,
                                              std::int64_t V, std::int64_t rows) {
  const Family& f = family_named(family);
  if (V < 1 || V > std::int64_t{1} << 24) throw InputError(fmt::format("--V {}: must be 1 to 16777216", V));
  if (rows < 0 || rows > 1 << 20) throw InputError(fmt::format("--rows {}: must be 0 to 1048576", rows));
  if (rows * V > std::int64_t{1} << 30)
    throw InputError(fmt::format("--rows {} --V {}: more than 2^30 elements", rows, V));
  const bool gpu = unavailable_reason(Backend::cuda).empty();
  std::vector<const Variant*> variants;
  for (const std::string& key : keys) {
    const std::string full = key.find('@') != std::string::npos ? key : key + (gpu ? "@cuda" : "@host");
    const Variant* v = find_variant(full);
    if (!v)
      throw InputError("--key " + key + ": no such key; assay list names them all" + did_you_mean_key(full));
    if (const std::string why = unavailable_reason(v->backend); !why.empty())
      throw InputError("--key " + full + ": " + why);
    if (v->op != Op::softmax) throw InputError("--key " + full + ": not a softmax");
    if (const std::string why = fast_judge_unsupported(v->claim, v->dtype, v->dtype); !why.empty())
      throw InputError("--key " + full + ": the fast judge does not serve this claim: " + why);
    if (!applies(f, v->dtype, V)) throw InputError(fmt::format("--family {}: no rows of V = {}", family, V));
    variants.push_back(v);
  }
  std::vector<OracleSpeed> all;
  for (const Variant* v : variants) {
    const std::int64_t made = rows > 0 ? rows : default_rows(V);
    const Tensor logits = make_input(f, v->dtype, V, made, 1);
    const auto copies = static_cast<int>(std::clamp<std::int64_t>(kDeviceElements / (made * V), 1, 4096));
    for (OracleSpeed& s : measure_oracle(*v, logits, copies)) all.push_back(std::move(s));
  }
  return all;
}

OracleSpeedData quick_oracle_speed() {
  const char* family = "normal_1";
  return oracle_speed_data(measure_oracle_speed({"safe_block/f32", "safe_block/f16"}, family, 32768, 16),
                           family, environment());
}

OracleSpeedData oracle_speed_data(const std::vector<OracleSpeed>& measured, const std::string& family,
                                  const std::vector<std::pair<std::string, std::string>>& environment) {
  OracleSpeedData d{family, machine_of(environment), {}};
  for (const OracleSpeed& s : measured) d.rows.push_back(row_of(s));
  return d;
}

std::string oracle_speed_json(const std::vector<OracleSpeed>& measured, const std::string& family,
                              const std::vector<std::pair<std::string, std::string>>& environment) {
  json file = {{"family", family}, {"environment", json::array()}, {"measured", json::array()}};
  for (const auto& [label, value] : environment) file["environment"].push_back({label, value});
  for (const OracleSpeed& s : measured) {
    json line = fields_to_json(row_of(s));
    line.update({{"elements", s.judgement.elements},
                 {"seconds", s.seconds},
                 {"runs", s.runs},
                 {"by_mpfr", s.judgement.by_mpfr},
                 {"max_ulp", number_to_json(s.judgement.statistics.max_ulp)},
                 {"max_bound_ratio", number_to_json(s.judgement.statistics.utilisation)},
                 {"rounding_undecided", s.judgement.statistics.rounding_undecided}});
    file["measured"].push_back(std::move(line));
  }
  return file.dump(1) + "\n";
}

OracleSpeedData read_oracle_speed(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  try {
    const json file = parse_json(text);
    OracleSpeedData f;
    f.family = file.at("family").get<std::string>();
    f.machine = machine_of(file.at("environment").get<std::vector<std::pair<std::string, std::string>>>());
    for (const json& m : file.at("measured")) f.rows.push_back(fields_from_json<OracleSpeedRow>(m));
    return f;
  } catch (const json::exception& e) {
    throw InputError(path.string() + ": not a file of assay sweep oracle: " + plain_words(e));
  } catch (const InputError& e) {
    throw InputError(path.string() + ": not a file of assay sweep oracle: " + e.what());
  }
}

}  // namespace assay
