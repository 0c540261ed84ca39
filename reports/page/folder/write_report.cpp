// SPDX-License-Identifier: Apache-2.0
#include "reports/page/folder/write_report.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "reference/error.hpp"
#include "reports/data/digest.hpp"
#include "reports/data/files.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/folder/links.hpp"
#include "reports/page/frame.hpp"
#include "reports/page/page.hpp"
#include "reports/records/about.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

InFolder in_folder(const fs::path& folder) {
  InFolder b;
  for (const char* name : {"sweep.jsonl", "peers.jsonl"})
    if (const fs::path file = file_or_gz(folder / name); !file.empty())
      for (SweepRecord& r : read_sweep(file)) b.sweep.push_back(std::move(r));
  if (fs::exists(folder / "accesses.jsonl")) b.accesses = read_accesses(folder / "accesses.jsonl");
  return b;
}

/// Removes the pages of kernels that an earlier report of this folder had. A file without a place for links
/// is not of this program, and stays.
void remove_others(const fs::path& kernels, const std::set<std::string>& written) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator it(kernels, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".html" && !written.contains(it->path().filename().string()))
      old.push_back(it->path());
  for (const fs::path& page : old)
    if (read_file(page).find(page::kPagesBegin) != std::string::npos) fs::remove(page, error);
}

}  // namespace

void write_report(const fs::path& folder, const ReportData& data,
                  const std::vector<std::pair<std::string, FileContent>>& more) {
  Files files;
  for (const auto& [name, content] : more) files.emplace_back(folder / name, content);
  files.emplace_back(folder / kAboutFile, render_about(data));
  const auto writes = [&](const char* name) {
    return std::any_of(more.begin(), more.end(), [name](const auto& file) { return file.first == name; });
  };
  write_pages(folder, Digest(data), std::move(files));
  if (writes("records.jsonl") && !writes(kContractFile)) remove_old_contracts(folder);
}

void write_pages(const fs::path& folder, const Digest& digest, Files files) {
  files.emplace_back(folder / "summary.md", render_summary_markdown(digest));
  std::set<std::string> kernels;
  for (auto& [name, text] : render_pages(digest, in_folder(folder))) {
    if (name.starts_with("kernels/")) kernels.insert(fs::path(name).filename().string());
    files.emplace_back(folder / name, std::move(text));
  }
  std::error_code error;
  fs::create_directories(folder / "kernels", error);
  if (error) throw InputError((folder / "kernels").string() + ": cannot be made: " + error.message());
  write_files(files);
  remove_others(folder / "kernels", kernels);
  link_pages(folder);
}

}  // namespace assay
