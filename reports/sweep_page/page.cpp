// SPDX-License-Identifier: Apache-2.0
// Puts the sections of the sweep's two pages together.
#include "reports/sweep_page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>

#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page_texts.hpp"
#include "reports/sweep/data/record.hpp"
#include "reports/sweep_page/goals.hpp"
#include "reports/sweep_page/parts.hpp"

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
  f.verdict = pass_or_fail(f.passed);
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

fs::path write_sweep_page(const fs::path& folder) {
  const std::vector<SweepRecord> records = records_of_folder(folder);
  if (records.empty()) throw InputError(folder.string() + ": holds no sweep.jsonl with records in it");
  const auto accesses = facts_in<AccessRecord>(folder / "accesses.jsonl");
  const auto splits = facts_in<SplitRecord>(folder / "split.jsonl");
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

namespace speed {
namespace {

std::string times(double v) { return std::isfinite(v) ? fmt::format("{:.2f}x", v) : "-"; }

/// For one dtype at 4000 rows: the fastest right kernel at each V from 4096 on, and its share.
std::string fastest(const Context& c, const std::string& dtype) {
  std::map<std::int64_t, const SweepRecord*> best;
  std::set<std::int64_t>
      own;  // elsewhere only peers were timed, and the fastest of them says nothing of ours
  for (const SweepRecord* r : c.timed)
    if (r->role == "variant" && r->op == "softmax" && r->dtype == dtype && r->rows == 4000) own.insert(r->V);
  for (const SweepRecord* r : c.timed)
    if (own.contains(r->V) && r->op == "softmax" && r->dtype == dtype && r->rows == 4000 && r->V >= 4096 &&
        r->verified == Status::pass)
      if (const SweepRecord*& b = best[r->V]; !b || *r->median_us < *b->median_us) b = r;
  if (best.empty()) return "";
  double lo = INFINITY, hi = 0;
  std::map<std::string, int> wins;
  for (const auto& [V, r] : best) {
    ++wins[variant_of(r->key)];
    if (std::isfinite(share(*r))) lo = std::min(lo, share(*r)), hi = std::max(hi, share(*r));
  }
  std::string names;
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, n] : wins) order.push_back({-n, name});
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size() && i < 3; ++i)
    names += fmt::format("{}{} (at {} row length{})", i ? ", " : "", order[i].second, -order[i].first,
                         order[i].first == -1 ? "" : "s");
  return fmt::format(
      "{} softmax, 4000 rows, at the {} row length{} from 4096 at which a kernel of this project was timed: "
      "the "
      "fastest right kernels are {}, at {} to {} of the copy",
      dtype, best.size(), best.size() == 1 ? "" : "s", names, percent(lo), percent(hi));
}

std::string own_rooflines(const Context& c) {
  int held = 0, of = 0, busy = 0, counted = 0;
  double least = INFINITY;
  std::string worst;
  for (const char* v : {"naive_block", "safe_block", "online_block", "online_warp"})
    for (const std::string& d : c.dtypes)
      for (const std::int64_t V : c.sizes(v, d, 4000)) {
        if (V < 4096 || (std::string_view(v) == "online_warp" && V > 32768)) continue;
        const auto own = own_share(*c.at(v, d, 4000, V));
        if (!own) continue;
        ++of, held += *own >= 0.9;
        if (const auto memory = memory_share(c, *c.at(v, d, 4000, V))) ++counted, busy += *memory >= 0.9;
        if (*own < least) least = *own, worst = fmt::format("{}/{} at V = {}", v, d, grouped(V));
      }
  if (of == 0) return "";
  return fmt::format(
             "reference kernels whose claimed accesses reach 90 % of the copy's speed: {} of {} shapes; "
             "least {} ({})",
             held, of, percent(least), worst) +
         (counted > 0 ? fmt::format("; with the accesses that reached memory, by the counters: {} of {}",
                                    busy, counted)
                      : "");
}

}  // namespace

std::vector<std::string> headlines(const Context& c) {
  std::vector<std::string> out;
  for (const PaperClaim& p : paper_claims(c)) {
    if (!p.best_known || p.points.empty()) continue;
    out.push_back(fmt::format("{} ({}): {}; the paper: {} - {}", p.what, p.forms->title, times(p.median),
                              p.published, p.verdict()));
  }
  for (const std::string& d : c.dtypes)
    if (std::string line = fastest(c, d); !line.empty()) out.push_back(std::move(line));
  if (std::string line = own_rooflines(c); !line.empty()) out.push_back(std::move(line));
  std::set<std::string> peers;
  int wrong = 0;
  for (const SweepRecord* r : c.timed)
    if (r->role == "peer") peers.insert(variant_of(r->key)), wrong += r->verified == Status::fail;
  if (peers.empty()) {
    if (!c.timed.empty()) out.push_back("no peer ran");
  } else {
    std::string names;
    for (const std::string& p : peers) names += (names.empty() ? "" : ", ") + p;
    out.push_back(fmt::format("peers in this run: {}{}", names,
                              wrong > 0 ? fmt::format("; {} of their configurations are wrong", wrong) : ""));
  }
  return out;
}

}  // namespace speed

std::string sweep_summary(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                          const std::vector<SplitRecord>& splits) {
  using namespace speed;
  const Context c = gather(records, accesses, splits);
  std::string out = fmt::format("# {}: {}\n\nV is the row length.\n\n", pass_or_fail(passed(records)),
                                verdict_line(records));
  for (const SweepRecord* r : c.timed) {
    for (const auto& [label, value] : {std::pair{"", r->gpu},
                                       {", driver ", r->driver},
                                       {", CUDA ", r->cuda},
                                       {", ", r->compiler},
                                       {", commit ", r->commit}})
      if (!value.empty()) out += label + value;
    out += "\n\n";
    break;
  }
  if (c.backend == "host" && !c.timed.empty()) out += "A host sweep: it says nothing about a GPU.\n\n";
  for (const std::string& line : headlines(c)) out += "- " + line + "\n";
  if (const std::vector<GoalLine> lines = goal_lines(c); !lines.empty()) {
    out += fmt::format("\n| {} |\n|---|---|---|---|---|---|\n", fmt::join(kGoalHeadings, " | "));
    for (const GoalLine& l : lines)
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", l.shapes, l.dtypes, l.goal, l.result, l.peer,
                         l.reached);
  }
  if (const std::vector<InvarianceLine> lines = invariance_lines(c); !lines.empty()) {
    out += fmt::format("\n| {} |\n|---|---|---|---|---|\n", fmt::join(kInvarianceHeadings, " | "));
    for (const InvarianceLine& l : lines)
      out += fmt::format("| {} | {} | {} | {} | {} |\n", grouped(l.rows), l.dtype, l.lengths,
                         l.least_and_most(), l.mean());
  }
  std::string table;
  for (const PaperClaim& p : paper_claims(c))
    if (!p.points.empty())
      table += fmt::format("| {} | {} | {} | {} | {} |\n", p.what, p.forms->title, p.published,
                           times(p.median), p.verdict());
  if (!table.empty())
    out += "\n| the paper | with | published | here | verdict |\n|---|---|---|---:|---|\n" + table;
  std::string keys;
  std::set<std::string> done;
  for (const std::int64_t V : {32000, 25000})  // top-k is timed at fewer V
    for (const SweepRecord* r : c.timed) {
      if (r->rows != 4000 || r->V != V || !of_usual_pick(*r) || !done.insert(r->key).second) continue;
      keys += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", r->key, grouped(V),
                          r->verified == Status::pass ? "right" : judged_word(r->verified),
                          duration(*r->median_us), r->gb_per_s ? plain_number(*r->gb_per_s) : "-",
                          percent(speed::share(*r)), r->max_ulp ? plain_number(*r->max_ulp) : "-");
    }
  if (!keys.empty())
    out +=
        "\n| 4000 rows | V | outputs | time | GB/s | share of copy (read) | max ulp |\n"
        "|---|---:|---|---:|---:|---:|---:|\n" +
        keys;
  std::string failed;
  int n = 0;
  for (const SweepRecord& r : records)
    if ((r.status == Status::fail || (r.verified == Status::fail && r.role != "ceiling")) && ++n <= 3)
      failed += fmt::format("- {} V = {} rows = {}: {}\n  `{}`\n", r.key, r.V, r.rows,
                            shorten(r.reason.empty() ? r.verified_reason : r.reason, 200), r.reproduce);
  if (!failed.empty()) out += fmt::format("\nFailed ({} in all):\n\n", n) + failed;
  return out;
}

}  // namespace assay
