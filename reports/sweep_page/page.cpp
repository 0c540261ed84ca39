// SPDX-License-Identifier: Apache-2.0
// Puts the sections of the sweep's two pages together.
#include "reports/sweep_page/page.hpp"

#include <set>
#include <system_error>

#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page_texts.hpp"
#include "reports/sweep/data/access_record.hpp"
#include "reports/sweep_page/parts.hpp"
#include "reports/sweep_page/summary.hpp"

namespace assay {

std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                       const std::vector<SplitRecord>& splits, const std::set<std::string>& kernel_pages) {
  using namespace speed;
  Context c = gather(records, accesses, splits);
  c.pages = kernel_pages;
  // Published GPU results and a GPU's rooflines cannot be compared with a host sweep.
  const auto on_gpu = [&](std::string (*section)(const Context&)) {
    return c.backend == "host" ? missing("a GPU's times", "assay sweep") : section(c);
  };
  page::Frame f = overview(c);
  f.sections = {
      {"keys", "Every kernel: right or wrong, and how fast", every_key(c)},
      {"results", "Main results", main_results(c)},
      {"ladder", "One read and one write: the ladder of onepass", on_gpu(ladder)},
      {"figures", "The paper's figures, on this machine", on_gpu(paper_figures)},
      {"claims", "What the paper says, and what this run shows", on_gpu(paper_claims_table)},
      {"topk", "Softmax with top-k: K = 5, 10, 15, 30", on_gpu(k_table)},
      {"own", "The reference kernels against their own roofline", on_gpu(own_roofline)},
      {"roofline", "Roofline", on_gpu(roofline)},
      {"plane", "Accuracy against speed", accuracy_plane(c)},
      {"tutorial", "The tutorial's table", on_gpu(tutorial_table)},
      {"worklog", "The worklog's table", on_gpu(worklog_table)},
      {"part3", "Fused softmax, part 3", on_gpu(part_three_figure)},
      {"machine", "The machine", machine(c)},
  };
  if (std::string failed = failed_peers(c); !failed.empty())
    f.sections.push_back({"peers", "Peers that failed", std::move(failed)});
  f.sections.push_back({"reading", "How to read this page", reading()});
  f.css = page::sweep_css;
  f.js = page::sweep_js;
  return page::framed(f);
}

std::string sweep_shapes_page(const std::vector<SweepRecord>& records,
                              const std::vector<AccessRecord>& accesses) {
  using namespace speed;
  const Context c = gather(records, accesses);
  page::Frame f;
  f.passed = passed(c.records);
  f.verdict = f.passed ? "PASS" : "FAIL";
  f.subject = "softmax performance by shape";
  f.heading = "The same kernels, shape by shape";
  f.about =
      "Every shape of the sweep, as a line and as a map, and what the hardware counters say. <a "
      "href=\"sweep.html\">The sweep's first page</a> has the main results, the machine, and the meaning of "
      "the words.";
  f.sentence = escape(verdict_line(c.records));
  f.sections = {
      {"lines", "Share of the copy over row length V", speed_lines(c)},
      {"heat", "Share of the copy over V and rows", heat_maps(c)},
      {"accesses", "Measured accesses beside the claim", access_table(c)},
      {"limits", "What limits each kernel", limits_table(c)},
      {"spills", "Where registers run out", spill_table(c)},
  };
  f.css = page::sweep_css;
  f.js = page::sweep_js;
  return page::framed(f);
}

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
