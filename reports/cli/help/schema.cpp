// SPDX-License-Identifier: Apache-2.0
// assay schema: the JSON Schema of the lines of records.jsonl, and of certificate.json.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "reports/adopt/certificate.hpp"
#include "reports/cli/commands.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {

static void add_schema_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand("schema", "the JSON Schema of the lines of records.jsonl");
  auto certificate = std::make_shared<bool>(false);
  c->add_flag("--certificate", *certificate, "the JSON Schema of certificate.json instead");
  c->callback([certificate, &status] {
    fmt::print("{}\n", (*certificate ? certificate_schema() : records_schema()).dump(1));
    status = kPassed;
  });
}

const Command schema_command = {"schema",
                                add_schema_command,
                                {"0  printed", kBadCallText},
                                {"assay schema", "assay schema > records.schema.json"}};

}  // namespace assay
