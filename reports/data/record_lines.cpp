#include "reports/data/record_lines.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "accuracy/record_fields.hpp"
#include "reference/fields_schema.hpp"
#include "reports/build_info.hpp"

namespace assay {
namespace {

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

/// Now, in UTC: "2026-11-25T16:00:00Z". SOURCE_DATE_EPOCH, the seconds that reproducible builds set, has the
/// last word.
std::string date() {
  std::time_t now = std::time(nullptr);
  if (const char* set = std::getenv("SOURCE_DATE_EPOCH"); set && *set) now = std::strtoll(set, nullptr, 10);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

RunHead head_of(const std::vector<std::pair<std::string, std::string>>& environment) {
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
  r.date = date();
  return r;
}

/// What another program wrote into a name need not be UTF-8.
std::string line_of(const nlohmann::json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string record_line(const Record& r) { return line_of(to_json(r)); }

std::string record_lines(const std::vector<Record>& records,
                         const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string lines;
  for (const Record& r : records) {
    nlohmann::json j = to_json(r);
    if (lines.empty()) j["run"] = fields_to_json(head_of(environment));
    lines += line_of(j);
  }
  return lines;
}

nlohmann::json records_schema() {
  Record any;
  any.group = "shapes";  // a record of a check may have more fields
  nlohmann::json j = fields_schema(any);
  j["properties"]["run"] = fields_schema(RunHead{});
  j["properties"]["run"]["properties"]["version"] = {{"const", kRecordsVersion}};
  j["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  j["title"] = "A line of records.jsonl of assay, version " + std::to_string(kRecordsVersion);
  j["description"] =
      "reports/data/RECORDS.md says what the fields mean. The first line of a file also has the field run.";
  return j;
}

}  // namespace assay
