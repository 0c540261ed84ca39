// SPDX-License-Identifier: Apache-2.0
#include "reports/page/folder/write_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "reference/error.hpp"
#include "reports/data/digest.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/page.hpp"
#include "reports/records/about.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

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
  write_pages(folder, Digest(data, Digest::Depth::all), std::move(files));
  if (writes("records.jsonl") && !writes(kContractFile)) remove_old_contracts(folder);
}

void write_pages(const fs::path& folder, const Digest& digest, Files files) {
  files.emplace_back(folder / "summary.md", render_summary_markdown(digest));
  std::set<std::string> kernels;
  for (auto& [name, text] :
       render_pages(digest, {records_of_folder(folder), facts_in<AccessRecord>(folder / "accesses.jsonl")})) {
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

namespace {

namespace fs = std::filesystem;

struct Known {
  const char *file, *label;
};
/// The pages that commands write, in the order of the links.
constexpr Known kKnown[] = {{"index.html", "Overview"},
                            {"compare.html", "Side by side"},
                            {"sweep.html", "Speed"},
                            {"sweep_shapes.html", "Speed by shape"},
                            {"functions.html", "Functions"},
                            {"history.html", "History"},
                            {"check/index.html", "Check"},
                            {"selftest.html", "Self-test"},
                            {"certificate.html", "Certificate"},
                            {"../certificate.html", "Certificate"},
                            {"../index.html", "All results"}};

std::size_t rank(const std::string& name) {
  std::size_t i = 0;
  while (i < std::size(kKnown) && name != kKnown[i].file) ++i;
  return i;
}

std::string label(const std::string& name) {
  const std::size_t i = rank(name);
  return i < std::size(kKnown) ? kKnown[i].label : name.substr(0, name.rfind('.'));
}

std::vector<fs::path> pages_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".html" && it->is_regular_file()) out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string with_links(std::string html, const std::vector<std::string>& names, const std::string& self) {
  const auto begin = html.find(page::kPagesBegin);
  const auto end = html.find(page::kPagesEnd, begin);
  if (begin == std::string::npos || end == std::string::npos) return html;
  std::string links;
  // One page alone has nothing to link to.
  if (names.size() > 1 || self.empty()) {
    links = "<nav class=\"pages\" aria-label=\"Pages of this folder\">";
    for (const std::string& name : names)
      links += fmt::format("<a href=\"{}{}\"{}>{}</a>", self.empty() ? "../" : "", escape(name),
                           name == self ? " aria-current=\"page\"" : "", escape(label(name)));
    links += "</nav>";
  }
  const auto from = begin + page::kPagesBegin.size();
  return html.replace(from, end - from, links);
}

void link_pages(const fs::path& folder) {
  const std::vector<fs::path> top = pages_in(folder);
  std::vector<std::string> names;
  for (const fs::path& page : top) names.push_back(page.filename().string());
  // A folder of several runs holds a check as a folder of its own.
  for (const char* other : {"check/index.html", "../certificate.html", "../index.html"})
    if (!top.empty() && fs::exists(folder / other)) names.emplace_back(other);
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  Files changed;
  const auto link = [&](const fs::path& page, const std::string& self) {
    const std::string before = read_file(page);
    std::string after = with_links(before, names, self);
    if (after != before) changed.emplace_back(page, std::move(after));
  };
  for (const fs::path& page : top) link(page, page.filename().string());
  for (const fs::path& page : pages_in(folder / "kernels")) link(page, "");
  write_files(changed);
}

}  // namespace assay
