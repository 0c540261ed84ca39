// SPDX-License-Identifier: Apache-2.0
// assay merge: puts the parts of a run with --shard into one folder, and says the verdict on the whole.
#include "reports/merge/merge.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/say.hpp"
#include "reports/out/out_folder.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/records/about.hpp"
#include "reports/runs/folder.hpp"
#include "reports/sweep_page/write_page.hpp"

namespace assay {
namespace {

struct MergeArguments {
  std::vector<std::string> folders;
  std::string out;
};

/// The verdict on the records, or what the parts themselves ended with where every record passed.
int merged_status(const Merged& m) {
  if (m.failed > 0) return kFailed;
  if (m.verb == "fuzz") return *std::max_element(m.statuses.begin(), m.statuses.end());
  if (m.passed == 0) return kEnvironment;
  return *std::max_element(m.statuses.begin(), m.statuses.end());
}

int run_merge_command(const MergeArguments& o) {
  const OutFolder out(o.out);
  const std::vector<std::filesystem::path> folders(o.folders.begin(), o.folders.end());
  Merged m;
  try {
    m = merge_parts(folders, out.path());
  } catch (const MissingParts& missing) {
    say("assay: merge: {} of {} shards are not there; nothing was merged\n{}", missing.missing, missing.count,
        missing.text);
    return kEnvironment;
  }
  const int status = merged_status(m);
  if (std::find(m.files.begin(), m.files.end(), kAboutFile) != m.files.end()) {
    write_pages(out.path(), RecordedRun(out.path(), out / "records.jsonl").digest());
    fmt::print("page: {}\n", std::filesystem::absolute(out / "index.html").string());
  }
  if (m.verb == "sweep") fmt::print("page: {}\n", write_sweep_page(out.path()).string());
  fmt::print("{}: {} shards of assay {}: {} records, {} run, {} failed\n",
             status == kPassed   ? "PASS"
             : status == kFailed ? "FAIL"
             : m.passed == 0     ? "NOTHING JUDGED"
                                 : "INCOMPLETE",
             m.statuses.size(), m.verb, m.records, m.executed, m.failed);
  if (!m.first.empty()) fmt::print("the first: {}\n", m.first);
  for (std::size_t i = 0; i < m.statuses.size(); ++i)
    if (m.statuses[i] > kFailed)
      fmt::print("shard {}/{} ended with status {}\n", i, m.statuses.size(), m.statuses[i]);
  for (const std::string& name : m.files) fmt::print("{}\n", (out / name).string());
  return status;
}

}  // namespace

void add_merge_command(CLI::App& app, int& status) {
  auto o = std::make_shared<MergeArguments>();
  CLI::App* c = app.add_subcommand("merge", "put the parts of a run with --shard into one folder");
  c->add_option("folders", o->folders, "the parts, or the folders that hold them: the --out of the parts")
      ->required();
  add_out(*c, o->out, "folder for the records of the whole run, and what belongs to them")->required();
  c->callback([o, &status] { status = run_merge_command(*o); });
}

}  // namespace assay
