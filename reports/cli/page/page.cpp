// SPDX-License-Identifier: Apache-2.0
// assay page DIR: makes the pages of a folder again from the records in it.
#include "reports/sweep_page/page.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/runs/folder.hpp"
#include "reports/runs/selftest.hpp"

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
  std::vector<std::string> written;
  if (const fs::path records = file_or_gz(folder / "records.jsonl"); !records.empty()) {
    const RecordedRun run(folder, records, o.threads);
    write_pages(folder, run.digest());
    written.push_back("index.html");
  }
  if (!file_or_gz(folder / "sweep.jsonl").empty() || !file_or_gz(folder / "peers.jsonl").empty()) {
    write_sweep_page(folder);
    written.push_back("sweep.html");
  }
  if (fs::exists(folder / "functions.json")) {
    write_files(
        {{folder / "functions.html", render_functions_page(read_functions(folder / "functions.json"))}});
    written.push_back("functions.html");
  }
  if (fs::exists(folder / "selftest.jsonl")) {
    write_files({{folder / "selftest.html", render_selftest_page(read_selftest(folder / "selftest.jsonl"))}});
    written.push_back("selftest.html");
  }
  if (written.empty())
    throw InputError(o.folder +
                     ": holds no records.jsonl, no sweep.jsonl, no functions.json and no selftest.jsonl");
  link_pages(folder);
  for (const std::string& name : written) tell("page: {}\n", fs::absolute(folder / name).string());
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
