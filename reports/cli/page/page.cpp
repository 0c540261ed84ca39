// SPDX-License-Identifier: Apache-2.0
// assay page DIR: makes the pages of a folder again from the records in it.
#include "reports/sweep_page/page.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/pages.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct PageArguments {
  std::string folder;
  int threads = 0;
};

int run_page_command(const PageArguments& o) {
  const fs::path folder = o.folder;
  if (!fs::is_directory(folder)) throw InputError(o.folder + ": is not a folder");
  if (make_pages(folder, o.threads).written.empty())
    throw InputError(o.folder +
                     ": holds no records.jsonl, no sweep.jsonl, no functions.json and no selftest.jsonl");
  return kPassed;
}

}  // namespace

static void add_page_command(CLI::App& app, int& status) {
  auto o = std::make_shared<PageArguments>();
  CLI::App* c = app.add_subcommand("page", "makes the pages of a folder again from its records");
  c->add_option(
       "folder", o->folder,
       "a folder with records.jsonl, sweep.jsonl, functions.json or selftest.jsonl; .jsonl.gz is read too")
      ->required();
  add_threads(*c, o->threads);
  c->callback([o, &status] { status = run_page_command(*o); });
}

const Command page_command = {"page",
                              add_page_command,
                              {"0  written", kBadCallText},
                              {"assay page out/report", "assay page reports/published/h200"}};

}  // namespace assay
