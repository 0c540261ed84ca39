// SPDX-License-Identifier: Apache-2.0
// assay completion: the scripts of the shells, the manual page, and the words that the scripts ask for.
// assay schema: the JSON Schema of the lines of records.jsonl, and of certificate.json.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/functions/functions.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/mutants/mutants.hpp"
#include "kernels/registry.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/help/command_texts.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

void print(const std::string& word) { fmt::print("{}\n", word); }

std::vector<CommandText> every_command() {
  CLI::App app;
  int ignored = 0;
  add_commands(app, ignored);
  return command_texts(app);
}

int run_completion_command(const std::string& what) {
  if (what == "bash") {
    fmt::print("{}", bash_completion(every_command()));
  } else if (what == "zsh") {
    fmt::print("{}", zsh_completion(every_command()));
  } else if (what == "man") {
    fmt::print("{}", manual_page(every_command()));
  } else if (what == "keys") {
    for (const Variant& v : registry()) print(v.key());
  } else if (what == "families") {
    for (const Family& f : all_families()) print(std::string(f.name));
    print(kProbeFamily);
  } else if (what == "groups") {
    for (const conformance::Group& g : conformance::groups()) print(std::string(g.name));
    for (const conformance::Group& g : {properties_group(), races_group(), sanitize_group()})
      print(std::string(g.name));
  } else if (what == "functions") {
    for (const functions::Function& f : functions::functions()) print(f.id());
  } else if (what == "entries") {
    for (const Mutant& m : mutants()) print(m.fault);
  } else {
    throw InputError("completion " + what +
                     ": must be bash, zsh, man, keys, families, groups, functions or entries");
  }
  return kPassed;
}

}  // namespace

static void add_completion_command(CLI::App& app, int& status) {
  auto what = std::make_shared<std::string>();
  CLI::App* c = app.add_subcommand("completion", "the completion script of a shell, or the manual page");
  c->add_option(
       "what", *what,
       "bash, zsh or man; or the words that the scripts ask for: keys, families, groups, functions, entries")
      ->required();
  c->callback([what, &status] { status = run_completion_command(*what); });
}

const Command completion_command = {"completion",
                                    add_completion_command,
                                    {"0  printed", kBadCallText},
                                    {"assay completion bash > assay.bash", "assay completion man > assay.1"}};

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
