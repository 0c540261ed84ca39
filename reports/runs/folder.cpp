// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/folder.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/registry.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"
#include "reports/records/about.hpp"
#include "reports/records/record_stream.hpp"
#include "reports/records/report_fields.hpp"
#include "reports/runs/oracle_speed_data.hpp"
#include "reports/runs/report.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A cell of summary.md as plain text.
std::string plain_cell(std::string text) {
  const auto first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  text = first == std::string::npos ? "" : text.substr(first, last - first + 1);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  constexpr std::pair<const char*, const char*> kEntities[] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
  for (const auto& [entity, character] : kEntities)
    for (auto at = out.find(entity); at != std::string::npos; at = out.find(entity, at + 1))
      out.replace(at, std::string(entity).size(), character);
  return out;
}

/// The table under "## Environment".
std::vector<std::pair<std::string, std::string>> environment_of(const fs::path& summary) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!fs::exists(summary)) return out;
  std::istringstream in(read_file(summary));
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == "## Environment";
    if (!inside || !line.starts_with("| ")) continue;
    const auto middle = line.find(" | ", 2), end = line.rfind(" |");
    if (middle == std::string::npos || end == std::string::npos || end <= middle + 3) continue;
    out.emplace_back(plain_cell(line.substr(2, middle - 2)),
                     plain_cell(line.substr(middle + 3, end - middle - 3)));
  }
  return out;
}

void read_contracts(const fs::path& file, ReportData& data) {
  if (!fs::exists(file)) return;
  try {
    const nlohmann::json all = parse_json(read_file(file));
    for (const auto& [key, j] : all.items()) {
      conformance::Contract& c = data.contracts[key];
      c.found = j.at("declare").get<std::string>();
      c.outside = j.at("outside").get<std::vector<std::string>>();
      for (const auto& axis : j.at("axes")) {
        conformance::Axis& a = c.axes.emplace_back();
        a.name = axis.at("axis").get<std::string>();
        Word(a.state, conformance::kAxisStates).read(nlohmann::json(axis.at("state")));
        a.within = axis.at("within").get<std::string>();
        a.outside = axis.at("outside").get<std::string>();
      }
    }
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file.string() + ": is not a contract.json: " + plain_words(e));
  } catch (const InputError& e) {
    throw InputError(file.string() + ": " + e.what());
  }
}

/// What is known of a run without about.json.
ReportData about_older(const fs::path& folder) {
  ReportData data;
  data.environment = environment_of(folder / "summary.md");
  for (const Family& f : all_families()) data.families.push_back({f.name, f.why});
  data.families.push_back({kProbeFamily, kProbeWhy});
  read_contracts(folder / "contract.json", data);
  if (fs::exists(folder / "oracle.json")) data.oracle = read_oracle_speed(folder / "oracle.json");
  if (fs::exists(folder / "functions.json")) data.functions = read_functions(folder / "functions.json");
  return data;
}

/// A key that about.json does not describe. Whether it can run here says nothing about where it ran.
KeyInfo described(const Record& r) {
  KeyInfo info;
  // A program that was built without CUDA knows the same kernel on the host. Its claim is the same.
  const Variant* v = find_variant(r.key);
  if (!v && r.backend == "cuda") v = find_variant(r.variant + "/" + r.dtype + "@host");
  if (v) info = key_info(*v);
  info.key = r.key, info.variant = r.variant, info.dtype = r.dtype, info.backend = r.backend, info.op = r.op;
  info.not_run = r.status == Status::not_run ? r.reason : "";
  return info;
}

}  // namespace

RecordedRun::RecordedRun(const fs::path& folder, const fs::path& records, int threads) {
  const bool known = fs::exists(folder / kAboutFile);
  about_ = known ? read_about(folder / kAboutFile) : about_older(folder);
  digest_ = std::make_unique<Digest>(Digest::of_stream(about_, described));
  const std::int64_t n = for_each_record(
      records, [this](const Record& r) { digest_->take(r); }, threads);
  if (n == 0) throw InputError(records.string() + ": holds no record");
  digest_->finish();
  std::int64_t executed = 0;
  for (const KeyTally& k : digest_->keys()) executed += k.status.executed();
  if (known) {
    // Records that are gone did not run, as far as anybody can see.
    about_.executed = std::min(about_.executed, executed);
  } else {
    about_.executed = executed;
    // A key of which nothing ran could not run there. Of the others every case was planned.
    for (const KeyTally& k : digest_->keys()) about_.planned += k.ran() ? k.records() : 0;
  }
}

}  // namespace assay
