// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep_page/write_page.hpp"

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
  write_files({{folder / "sweep.html", sweep_page(records, accesses, splits)},
               {folder / "sweep_shapes.html", sweep_shapes_page(records, accesses)},
               {folder / "sweep.md", sweep_summary(records, accesses, splits)}});
  link_pages(folder);
  return fs::absolute(folder / "sweep.html");
}

}  // namespace assay
