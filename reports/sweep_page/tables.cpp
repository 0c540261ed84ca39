// SPDX-License-Identifier: Apache-2.0
// The tables of the page of a sweep: keys, accesses, limits.
#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <set>
#include <tuple>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {

// Every key and peer in one table: right or wrong, how large the error, and how fast at a few V of 4000 rows.

namespace {

constexpr std::int64_t kWanted[] = {252, 1008, 4032, 14080, 25000, 32000, 64512, 128256, 262144, 1032192};

/// The wanted V that were timed. If a small sweep has none of them, all that it has.
std::vector<std::int64_t> columns(const Context& c, std::int64_t rows) {
  std::set<std::int64_t> all;
  for (const SweepRecord* r : c.timed)
    if (r->rows == rows) all.insert(r->V);
  std::vector<std::int64_t> out;
  for (const std::int64_t V : kWanted)
    if (all.contains(V)) out.push_back(V);
  if (out.empty()) out.assign(all.begin(), all.end());
  if (out.size() > 10) out.resize(10);
  return out;
}

/// The number of rows with most records.
std::int64_t main_rows(const Context& c) {
  std::map<std::int64_t, int> seen;
  for (const SweepRecord* r : c.timed) ++seen[r->rows];
  const auto most = std::max_element(seen.begin(), seen.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return seen.contains(4000) ? 4000 : most == seen.end() ? 0 : most->first;
}

struct Row {
  const SweepRecord* any = nullptr;
  int timed = 0, wrong = 0, not_judged = 0;
  double max_ulp = NAN, utilisation = NAN;
  int least_loads = INT_MAX, most_loads = 0;  // claimed, over V
  void take(const SweepRecord& r) {
    if (!any) any = &r;
    ++timed, wrong += r.verified == Status::fail, not_judged += r.verified == Status::unsupported;
    if (r.claimed_loads) {
      least_loads = std::min(least_loads, *r.claimed_loads);
      most_loads = std::max(most_loads, *r.claimed_loads);
    }
    // NaN counts as the largest error.
    const auto larger = [](double a, const std::optional<double>& b) {
      if (!b) return a;
      return std::isnan(*b) ? INFINITY : std::isnan(a) ? *b : std::max(a, *b);
    };
    max_ulp = larger(max_ulp, r.max_ulp), utilisation = larger(utilisation, r.max_utilisation);
  }
};

/// A kernel's name, as a link to its page where it has one.
std::string linked(const Context& c, const std::string& variant) {
  if (!c.pages.contains(variant)) return escape(variant);
  return fmt::format("<a href=\"kernels/{0}.html\">{0}</a>", escape(variant));
}

}  // namespace

std::string every_key(const Context& c) {
  const std::int64_t rows = main_rows(c);
  const std::vector<std::int64_t> sizes = columns(c, rows);
  std::string tables;
  for (const std::string& d : c.dtypes) {
    // This project's kernels come before the peers.
    std::map<std::tuple<bool, std::string, Pick>, Row> keys;
    for (const SweepRecord* r : c.timed)
      if (r->dtype == d) keys[{r->role == "peer", variant_of(r->key), r->pick()}].take(*r);
    std::string head =
                    "<table><thead><tr><th>kernel</th><th>outputs</th><th "
                    "class=\"n\">timed</th><th class=\"n\">max ulp</th><th class=\"n\">error/bound</th><th "
                    "class=\"n\">claims</th>",
                body;
    for (const std::int64_t V : sizes) head += "<th class=\"n\">V " + grouped(V) + "</th>";
    for (const auto& [name, row] : keys) {
      const auto& [peer, variant, k] = name;
      // For top-k the paper's K is shown; the K table has the others.
      if (k != 0 && k != 5 && keys.contains({peer, variant, 5})) continue;
      body += fmt::format(
          "<tr><th>{}{}{}{}</th><td>{}</td>", legend_sample(look(variant).marker, look(variant).css, ""),
          linked(c, variant), behind_name(row.any->op, k), peer ? " <span class=\"mute\">(peer)</span>" : "",
          row.wrong > 0        ? fmt::format("<span class=\"bad\">{} wrong</span>", row.wrong)
          : row.not_judged > 0 ? fmt::format("<span class=\"warn\">{} not judged</span>", row.not_judged)
                               : "<span class=\"good\">right</span>");
      body +=
          page::count_cell(row.timed) + page::number_cell(row.max_ulp) + page::number_cell(row.utilisation);
      body +=
          row.any->claimed_loads && row.any->claimed_stores
              ? fmt::format("<td class=\"n\">{}{}+{}</td>", row.least_loads,
                            row.most_loads > row.least_loads ? fmt::format("&ndash;{}", row.most_loads) : "",
                            *row.any->claimed_stores)
              : "<td class=\"n\">" + std::string(kDash) + "</td>";
      for (const std::int64_t V : sizes) {
        const SweepRecord* r = c.at(variant, d, rows, V, k);
        body += r ? share_cell(share(*r), duration(*r->median_us), 0, beside(*r))
                  : "<td class=\"n\">" + std::string(kDash) + "</td>";
      }
      body += "</tr>";
    }
    tables += "<div" + chosen_by(d) + "><h3>" + escape(d) + "</h3>" +
              page::scroll(head + "</tr></thead><tbody>" + body + "</tbody></table>") + "</div>";
  }
  if (tables.empty()) return missing("anything timed", "assay sweep");
  return fmt::format(
             "<p>For each V (row length): the share of the copy (of the read for top-k and log-sum-exp) at "
             "{} rows, and the time. Peers are judged by the same rules, but only on 2 to "
             "8 rows of a large output. <i>Max ulp</i> and <i>error/bound</i> are the largest of all timed "
             "shapes. "
             "<i>Claims</i> is loads + stores per element, from the shortest row to the longest. Click a "
             "heading to sort.</p>",
             grouped(rows)) +
         choice(tables);
}

// Measured accesses beside the claim: from the host executor, which counts every element, and from a GPU's
// counters, which show what passed its L2 and what reached memory.

namespace {

constexpr double kOff = 0.1;  // marks a difference this large, as a share of the claim's sum

/// One kernel's counts by V: the host's, and the GPU's at the largest number of rows.
struct Counted {
  std::map<std::int64_t, const AccessRecord*> host, gpu;
  const AccessRecord& any() const { return *(gpu.empty() ? host : gpu).begin()->second; }
};
using Kernel = std::pair<std::string, Pick>;  // variant and what it takes

std::map<Kernel, Counted> counted(const Context& c, const std::string& dtype) {
  std::map<Kernel, Counted> out;
  for (const AccessRecord& a : c.accesses) {
    if (dtype_of(a.key) != dtype) continue;
    Counted& k = out[{variant_of(a.key), a.pick()}];
    const AccessRecord*& slot = (a.source == "ncu" ? k.gpu : k.host)[a.V];
    if (!slot || a.rows > slot->rows) slot = &a;
  }
  return out;
}

double sum(const std::optional<double>& a, const std::optional<double>& b) { return a && b ? *a + *b : NAN; }

bool off(double measured, double claim) { return !(std::fabs(measured - claim) <= kOff * claim); }

std::string in_words(const std::optional<double>& loads, const std::optional<double>& stores) {
  const auto text = [](const std::optional<double>& v) {
    return v && std::isfinite(*v) ? fmt::format("{:.2f}", *v) : std::string("-");
  };
  return text(loads) + " + " + text(stores);
}

/// The host's count at its longest row. Short rows cost more, because they are rounded up to a vector.
std::string host_cell(const Counted& k, double claim) {
  if (k.host.empty()) return "<td class=\"n\">" + std::string(kDash) + "</td>";
  const auto& [V, a] = *k.host.rbegin();
  const double s = sum(a->loads, a->stores);
  const bool marked = std::isfinite(claim) && off(s, claim);
  return fmt::format(
      "<td class=\"n{}\" title=\"V = {}\">{}{}</td>", marked ? " off" : "", grouped(V),
      in_words(a->loads, a->stores),
      marked ? fmt::format("<small>{:+.0f} % beside the claim</small>", 100 * (s / claim - 1)) : "");
}

std::string gpu_cell(const AccessRecord* a, double claim) {
  if (!a) return "<td class=\"n\">" + std::string(kDash) + "</td>";
  const double memory = sum(a->dram_read, a->dram_write), cache = sum(a->l2_read, a->l2_write);
  std::string css, word;
  if (std::isfinite(memory) && std::isfinite(claim) && off(memory, claim)) {
    if (memory < claim) {
      css = " held";
      word = cache >= claim * (1 - kOff) ? "L2 holds the rest" : "caches hold the rest";
    } else {
      css = " off";
      word = a->local_bytes.value_or(0) > 0 ? "with spills" : "more than claimed";
    }
  }
  return fmt::format("<td class=\"n{}\" title=\"{} rows; through the L2: {}\">{}{}</td>", css,
                     grouped(a->rows), in_words(a->l2_read, a->l2_write),
                     in_words(a->dram_read, a->dram_write),
                     word.empty() ? "" : "<small>" + word + "</small>");
}

std::string table(const Context& c, const std::map<Kernel, Counted>& kernels) {
  std::set<std::int64_t> sizes;
  for (const auto& [name, k] : kernels)
    for (const auto& [V, a] : k.gpu) sizes.insert(V);
  std::string out =
      "<table><thead><tr><th>kernel</th><th class=\"n\">claims</th><th "
      "class=\"n\">counted on the host</th>";
  for (const std::int64_t V : sizes) out += "<th class=\"n\">V " + grouped(V) + "</th>";
  out += "</tr></thead><tbody>";
  for (const auto& [name, k] : kernels) {
    const AccessRecord& a = k.any();
    const bool claims = a.claimed_loads && a.claimed_stores;
    const double claim = claims ? *a.claimed_loads + *a.claimed_stores : NAN;
    out += fmt::format("<tr><th>{}{}</th><td class=\"n\">{}</td>", escape(name.first),
                       c.behind_name(name.first, name.second),
                       claims ? fmt::format("{} + {}", *a.claimed_loads, *a.claimed_stores) : kDash) +
           host_cell(k, claim);
    for (const std::int64_t V : sizes) out += gpu_cell(k.gpu.contains(V) ? k.gpu.at(V) : nullptr, claim);
    out += "</tr>";
  }
  return page::scroll(out + "</tbody></table>");
}

}  // namespace

std::string access_table(const Context& c) {
  std::string tables;
  bool gpu = false, host = false;
  for (const AccessRecord& a : c.accesses) (a.source == "ncu" ? gpu : host) = true;
  for (const char* d : kDtypeOrder)
    if (const auto kernels = counted(c, d); !kernels.empty())
      tables += "<div" + chosen_by(d) + "><h3>" + d + "</h3>" + table(c, kernels) + "</div>";
  if (tables.empty()) return missing("measured accesses", "assay sweep accesses");
  return "<p>Loads + stores per element of the row. The host executor counts every element that a kernel "
         "touches in logits, outputs and workspace, so its counts are exact. A GPU's counters say what "
         "reached its memory, in elements, for each V (row length). <b class=\"bad\">Red</b>: more than a "
         "tenth away from the claim. Grey: fewer accesses reach memory than the kernel makes, because a "
         "cache still holds the row (rows are short, or few). Then the claim is right, but the time does not "
         "show it.</p>" +
         choice(tables) + (host ? "" : missing("the host's exact counts", "assay sweep accesses")) +
         (gpu ? ""
              : missing("a GPU's counters, which need ncu", "reports/publish/measure_accesses.sh assay DIR"));
}

std::string spill_table(const Context& c) {
  constexpr const char* kOneWarp = "register_float4_warp";
  std::map<std::tuple<std::string, std::string, Pick, std::int64_t>, const AccessRecord*> rows;
  std::set<std::string> keys;  // keys that spill somewhere
  for (const AccessRecord& a : c.accesses) {
    if (a.source != "ncu" || !a.registers || !std::isfinite(*a.registers)) continue;
    rows[{dtype_of(a.key), variant_of(a.key), a.pick(), a.V}] = &a;
    if (a.local_bytes.value_or(0) > 0 || variant_of(a.key) == kOneWarp) keys.insert(a.key);
  }
  std::string body;
  for (const auto& [place, a] : rows) {
    const auto& [dtype, variant, k, V] = place;
    if (!keys.contains(a->key)) continue;
    const SweepRecord* r = c.at(variant, dtype, a->rows, V, k);
    body += fmt::format("<tr><th>{}{} <b class=\"{}\">{}</b></th>", escape(variant),
                        c.behind_name(variant, k), page::dtype_class(dtype), escape(dtype)) +
            page::count_cell(V) + page::count_cell(std::llround(*a->registers)) +
            fmt::format("<td class=\"n{}\">{}</td>", a->local_bytes.value_or(0) > 0 ? " off" : "",
                        number(a->local_bytes)) +
            share_cell(a->occupancy.value_or(NAN)) +
            (r ? share_cell(share(*r), duration(*r->median_us), 0, describe(*r)) : share_cell(NAN)) + "</tr>";
  }
  if (body.empty())
    return missing("registers and local memory of register_float4_warp",
                   "reports/publish/measure_accesses.sh assay DIR --key 'register_float4_warp/f32@cuda'");
  return "<p>A row in the registers of one warp needs V/32 values per lane. If they do not fit, the compiler "
         "spills to local memory, and a kernel of one pass moves extra bytes. The worklog reports for its "
         "third kernel on an A100: 128 registers and 46 % occupancy at V = 4096, spills at 8192. The table "
         "has that kernel, and all others whose counters saw local memory.</p>" +
         page::scroll(page::open_table({"kernel", "#V", "#registers per thread", "#local bytes per element",
                                        "#occupancy", "#share of the copy"}) +
                      "<tbody>" + body + "</tbody></table>");
}

// What limits each kernel, by its counters: memory, instructions, spills, sectors, threads, or latency.

namespace {

constexpr double kMemoryBusy = 0.75, kIssueBusy = 0.7, kSpill = 1, kSectors = 24, kOccupancy = 0.3;

std::string held_by(const AccessRecord& a) {
  const auto from = [](const std::optional<double>& v, double limit) { return v && *v >= limit; };
  std::string out;
  const auto say = [&](bool yes, const char* word) {
    if (yes) out += (out.empty() ? "" : ", ") + std::string(word);
  };
  say(from(a.dram_share, kMemoryBusy), "memory");
  say(from(a.issue_share, kIssueBusy), "instructions");
  say(from(a.local_bytes, kSpill), "spills");
  say(from(a.sectors_per_request, kSectors), "uncoalesced sectors");
  say(a.occupancy && *a.occupancy < kOccupancy, "threads in flight");
  if (out.empty()) return a.dram_share && a.issue_share ? "latency" : kDash;
  return out;
}

}  // namespace

std::string limits_table(const Context& c) {
  std::map<std::tuple<std::string, std::int64_t, std::string, Pick>, const AccessRecord*> last;
  // Long rows first; but 32,768, which every kernel supports, before all.
  const auto order = [](std::int64_t a, std::int64_t b) {
    return std::pair(a == 32768, a) > std::pair(b == 32768, b);
  };
  std::set<std::int64_t, decltype(order)> sizes(order);
  for (const AccessRecord& a : c.accesses)
    if (a.source == "ncu") last[{dtype_of(a.key), a.V, variant_of(a.key), a.pick()}] = &a, sizes.insert(a.V);
  std::string tables;
  for (const char* d : kDtypeOrder)
    for (const std::int64_t V : sizes) {
      std::string body;
      for (const auto& [place, a] : last) {
        const auto& [dtype, size, variant, k] = place;
        if (dtype != d || size != V) continue;
        const SweepRecord* r = c.at(variant, dtype, a->rows, V, k);
        body += fmt::format("<tr><th>{}{}</th>", escape(variant), c.behind_name(variant, k)) +
                (r ? share_cell(share(*r), duration(*r->median_us), 0, beside(*r)) : share_cell(NAN)) +
                share_cell(r ? own_share(*r).value_or(NAN) : NAN) + share_cell(a->dram_share.value_or(NAN)) +
                share_cell(a->issue_share.value_or(NAN)) + share_cell(a->occupancy.value_or(NAN)) +
                page::number_cell(a->sectors_per_request) + page::number_cell(a->instructions_per_element) +
                page::number_cell(a->local_bytes) + "<td class=\"nw\">" + held_by(*a) + "</td></tr>";
      }
      if (body.empty()) continue;
      tables += "<div" + chosen_by(d, 0, V) + fmt::format("><h3>{}, V = {}</h3>", d, grouped(V)) +
                page::scroll(page::open_table({"kernel", "#share of copy", "#own roofline", "#memory busy",
                                               "#issue slots", "#occupancy", "#sectors", "#instr.",
                                               "#local bytes", "limited by"}) +
                             "<tbody>" + body + "</tbody></table>") +
                "</div>";
    }
  if (tables.empty()) return missing("hardware counters", "reports/publish/measure_accesses.sh assay DIR");
  return fmt::format(
             "<p><i>Own roofline</i> is the speed of the claimed accesses as a share of the copy's speed. "
             "Above 100 %, caches serve some of them. <i>Limited by</i> is what the counters show: "
             "<i>memory</i> from {:.0f} % of its peak, <i>instructions</i> from {:.0f} % of the issue slots, "
             "<i>spills</i> from {} byte of local memory per element, <i>uncoalesced sectors</i> from {} per "
             "request (32 neighbouring floats need 4, 32 float4 need 16), <i>threads in flight</i> below "
             "{:.0f} % occupancy. If none of these holds, it is <i>latency</i>: barriers, chains of "
             "dependent exps, or too few rows to fill the GPU. <i>Instr.</i> and <i>local bytes</i> are per "
             "element. Counters slow a kernel down, so times and shares of the copy are those of the "
             "sweep.</p>",
             100 * kMemoryBusy, 100 * kIssueBusy, kSpill, kSectors, 100 * kOccupancy) +
         choice(tables);
}

}  // namespace assay::speed
