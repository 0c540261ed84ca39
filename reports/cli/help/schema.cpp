// assay schema: the JSON Schema of the lines of records.jsonl.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "reports/cli/commands.hpp"
#include "reports/data/record_lines.hpp"

namespace assay {

void add_schema_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand("schema", "the JSON Schema of the lines of records.jsonl");
  c->callback([&status] {
    fmt::print("{}\n", records_schema().dump(1));
    status = kPassed;
  });
}

}  // namespace assay
