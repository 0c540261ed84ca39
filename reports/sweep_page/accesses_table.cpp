// SPDX-License-Identifier: Apache-2.0
// Measured accesses beside the claim: from the host executor, which counts every element, and from a GPU's
// counters, which show what passed its L2 and what reached memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

constexpr double kOff = 0.1;  // marks a difference this large, as a share of the claim's sum

/// One kernel's counts by V: the host's, and the GPU's at the largest number of rows.
struct Counted {
  std::map<std::int64_t, const AccessRecord*> host, gpu;
  const AccessRecord& any() const { return *(gpu.empty() ? host : gpu).begin()->second; }
};
using Kernel = std::pair<std::string, int>;  // variant, k

std::map<Kernel, Counted> counted(const Context& c, const std::string& dtype) {
  std::map<Kernel, Counted> out;
  for (const AccessRecord& a : c.accesses) {
    if (dtype_of(a.key) != dtype) continue;
    Counted& k = out[{variant_of(a.key), a.k}];
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
  std::map<std::tuple<std::string, std::string, int, std::int64_t>, const AccessRecord*> rows;
  std::set<std::string> keys;  // keys that spill somewhere
  for (const AccessRecord& a : c.accesses) {
    if (a.source != "ncu" || !a.registers || !std::isfinite(*a.registers)) continue;
    rows[{dtype_of(a.key), variant_of(a.key), a.k, a.V}] = &a;
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

}  // namespace assay::speed
