// SPDX-License-Identifier: Apache-2.0
#include "reports/records/record_lines.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "accuracy/record_fields.hpp"
#include "reference/text.hpp"
#include "reports/build_info.hpp"
#include "reports/data/environment.hpp"
#include "reports/records/fields_schema.hpp"

namespace assay {
namespace {

constexpr const char* kRun = "run";

/// What the first record of a file has under "run".
struct RunHead {
  int version = kRecordsVersion;
  std::string assay, commit, system, cpu, gpu, driver, compiler, flags, cuda, date;
};

template <IsA<RunHead> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("version", r.version);
  visit("assay", r.assay);
  visit("commit", r.commit);
  visit("system", r.system);
  visit("cpu", r.cpu);
  visit("gpu", r.gpu);
  visit("driver", r.driver);
  visit("compiler", r.compiler);
  visit("flags", r.flags);
  visit("cuda", r.cuda);
  visit("date", r.date);
}

nlohmann::json head_of(const RunFacts& environment) {
  const auto of = [&](const char* label) {
    const auto at = std::find_if(environment.begin(), environment.end(),
                                 [&](const auto& one) { return one.first == label; });
    return at == environment.end() ? std::string() : at->second;
  };
  RunHead r;
  r.assay = build_info::version;
  r.commit = build_info::commit;
  r.system = of("system");
  r.cpu = of("CPU");
  r.gpu = of("GPU");
  r.driver = of("driver");
  r.compiler = of("host compiler");
  r.flags = of("host flags");
  r.cuda = of("CUDA compiler");
  r.date = utc_now();
  return fields_to_json(r);
}

/// Without a line break.
std::string text_of(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

FileContent lines_of(const std::vector<Record>& records, const RunFacts& environment) {
  return FileContent([&records, head = head_of(environment)](std::ostream& out) {
    for (const Record& r : records) {
      if (&r != &records.front()) {
        out << record_line(r);
        continue;
      }
      nlohmann::json first = to_json(r);
      first[kRun] = head;
      out << text_of(first) << '\n';
    }
  });
}

std::string with_run(const std::string& lines, const RunFacts& environment) {
  const std::size_t end = lines.find('\n');
  if (end == lines.npos) return lines;
  nlohmann::json first = parse_json_line(lines.substr(0, end));
  first[kRun] = head_of(environment);
  return text_of(first) + lines.substr(end);
}

std::string without_run(const std::string& line) {
  nlohmann::json j = parse_json_line(line);
  return j.is_object() && j.erase(kRun) > 0 ? text_of(j) : line;
}

nlohmann::json records_schema() {
  Record any;
  any.group = "shapes";  // a record of a check may have more fields
  nlohmann::json j = fields_schema(any);
  j["properties"][kRun] = fields_schema(RunHead{});
  j["properties"][kRun]["properties"]["version"] = {{"const", kRecordsVersion}};
  j["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  j["title"] = "A line of records.jsonl of assay, version " + std::to_string(kRecordsVersion);
  j["description"] =
      "reports/data/RECORDS.md says what the fields mean. Only the first line of a file has the field run.";
  return j;
}

}  // namespace assay
