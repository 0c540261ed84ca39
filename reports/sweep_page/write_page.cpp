// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep_page/write_page.hpp"

#include <set>
#include <system_error>

#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/page/folder/links.hpp"
#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep_page/page.hpp"
#include "reports/sweep_page/summary.hpp"

namespace assay {

namespace fs = std::filesystem;

std::vector<SweepRecord> records_of_folder(const fs::path& folder) {
  std::vector<SweepRecord> all;
  for (const char* name : {"sweep.jsonl", "peers.jsonl"})
    if (const fs::path file = file_or_gz(folder / name); !file.empty())
      for (SweepRecord& r : read_sweep(file)) all.push_back(std::move(r));
  return all;
}

fs::path write_sweep_page(const fs::path& folder) {
  const std::vector<SweepRecord> records = records_of_folder(folder);
  if (records.empty()) throw InputError(folder.string() + ": holds no sweep.jsonl with records in it");
  std::vector<AccessRecord> accesses;
  if (fs::exists(folder / "accesses.jsonl")) accesses = read_accesses(folder / "accesses.jsonl");
  std::vector<SplitRecord> splits;
  if (fs::exists(folder / "split.jsonl")) splits = read_splits(folder / "split.jsonl");
  // A kernel's page has the kernel's name; a name that is no file's name gets another, and no link.
  std::set<std::string> kernel_pages;
  std::error_code none;
  for (fs::directory_iterator it(folder / "kernels", none), end; !none && it != end; it.increment(none))
    if (it->path().extension() == ".html") kernel_pages.insert(it->path().stem().string());
  write_files({{folder / "sweep.html", sweep_page(records, accesses, splits, kernel_pages)},
               {folder / "sweep_shapes.html", sweep_shapes_page(records, accesses)},
               {folder / "sweep.md", sweep_summary(records, accesses, splits)}});
  link_pages(folder);
  return fs::absolute(folder / "sweep.html");
}

}  // namespace assay
