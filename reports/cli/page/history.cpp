// SPDX-License-Identifier: Apache-2.0
// assay history DIR...: accuracy and speed of every kernel over several reports, as one page.
#include "reports/history/history.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/runs/folder.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct HistoryArguments {
  std::vector<std::string> folders;
  std::string out = "out/history";
  int threads = 0;
};

/// The page of a report in `folder`, as a URL relative to `from`; "" if it has none.
std::string page_of(const fs::path& folder, const fs::path& from) {
  for (const char* name : {"index.html", "sweep.html"}) {
    if (!fs::exists(folder / name)) continue;
    std::string url;
    for (const char c : fs::relative(folder / name, from).generic_string())
      url += std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-._~/", c)
                 ? std::string(1, c)
                 : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return url;
  }
  return "";
}

HistoryRun read_run(const std::string& name, int threads) {
  const fs::path folder = name;
  if (!fs::is_directory(folder)) throw InputError(name + ": is not a folder");
  const std::vector<SweepRecord> sweep = records_of_folder(folder);
  const fs::path records = file_or_gz(folder / "records.jsonl");
  if (records.empty() && sweep.empty())
    throw InputError(name + ": holds no records.jsonl and no sweep.jsonl");
  if (records.empty()) return history_run(name, nullptr, sweep);
  const RecordedRun run(folder, records, threads);
  return history_run(name, &run.digest(), sweep);
}

int run_history_command(const HistoryArguments& o) {
  for (const std::string& name : o.folders)  // a mistyped name is no report that could not be read
    if (!fs::exists(name)) throw InputError(name + ": no such folder");
  std::vector<HistoryRun> runs;
  std::vector<std::string> left_out;
  for (const std::string& name : o.folders) try {
      runs.push_back(read_run(name, o.threads));
    } catch (const InputError& e) {
      left_out.emplace_back(e.what());
    }
  if (runs.empty()) throw InputError(left_out.front());
  for (const std::string& why : left_out) say("assay: left out: {}\n", why);
  const fs::path out = o.out;
  prepare_folder(out);
  for (HistoryRun& run : runs) run.page = page_of(run.folder, out);
  write_files({{out / "history.html", render_history_page(runs, left_out)}});
  link_pages(out);
  for (const HistoryChange& c : last_changes(runs).changes)
    tell("{}: {}: {}: {:.4g} -> {:.4g}\n", c.worse ? "worse" : "better", c.key, c.figure, c.before, c.after);
  tell("page: {}\n", fs::absolute(out / "history.html").string());
  return kPassed;
}

}  // namespace

static void add_history_command(CLI::App& app, int& status) {
  auto o = std::make_shared<HistoryArguments>();
  CLI::App* c = app.add_subcommand("history", "accuracy and speed of every kernel over several reports");
  c->add_option("folders", o->folders, "folders of assay report, check or sweep, oldest first")->required();
  add_out(*c, o->out, "folder for history.html")->capture_default_str();
  add_threads(*c, o->threads);
  c->callback([o, &status] { status = run_history_command(*o); });
}

const Command history_command = {
    "history",
    add_history_command,
    {"0  written", kBadCallText},
    {"assay history out/before out/after", "assay history out/before out/after --out out/history"}};

}  // namespace assay
