// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/pages.hpp"

#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/runs/selftest.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {

namespace fs = std::filesystem;

FolderPages make_pages(const fs::path& folder, int threads, std::string_view only) {
  FolderPages made;
  const auto has = [&](const char* data) {
    return (only.empty() || only == data) && !file_or_gz(folder / data).empty();
  };
  if (has("records.jsonl")) {
    const fs::path records = file_or_gz(folder / "records.jsonl");
    made.run = std::make_unique<RecordedRun>(folder, records, threads);
    write_pages(folder, made.run->digest());
    made.written.emplace_back("index.html");
  }
  if (has("sweep.jsonl") || has("peers.jsonl")) {
    write_sweep_page(folder);
    made.written.emplace_back("sweep.html");
  }
  const auto write = [&](const char* data, const char* page, const auto& render) {
    if ((!only.empty() && only != data) || !fs::exists(folder / data)) return;
    write_files({{folder / page, render(folder / data)}});
    made.written.emplace_back(page);
  };
  write("functions.json", "functions.html",
        [](const fs::path& file) { return render_functions_page(read_functions(file)); });
  write("selftest.jsonl", "selftest.html",
        [](const fs::path& file) { return render_selftest_page(read_selftest(file)); });
  if (!made.written.empty()) link_pages(folder);
  for (const std::string& name : made.written) tell("page: {}\n", fs::absolute(folder / name).string());
  return made;
}

}  // namespace assay
