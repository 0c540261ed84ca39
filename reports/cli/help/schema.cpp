// assay schema: the JSON Schema of the lines of records.jsonl, and of certificate.json.
#include "reports/cli/help/schema.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "accuracy/record_fields.hpp"
#include "reference/fields_schema.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/cli/commands.hpp"

namespace assay {

nlohmann::json records_schema() {
  Record any;
  any.group = "shapes";  // a record of a check may have more fields
  nlohmann::json j = fields_schema(any);
  j["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  j["title"] = "A line of records.jsonl of assay, version " + std::to_string(kRecordsVersion);
  j["description"] = "reports/data/RECORDS.md says what the fields mean.";
  return j;
}

void add_schema_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand("schema", "the JSON Schema of the lines of records.jsonl");
  auto certificate = std::make_shared<bool>(false);
  c->add_flag("--certificate", *certificate, "the JSON Schema of certificate.json instead");
  c->callback([certificate, &status] {
    fmt::print("{}\n", (*certificate ? certificate_schema() : records_schema()).dump(1));
    status = kPassed;
  });
}

}  // namespace assay
