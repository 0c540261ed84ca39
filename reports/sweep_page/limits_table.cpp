// SPDX-License-Identifier: Apache-2.0
// What limits each kernel, by its counters: memory, instructions, spills, sectors, threads, or latency.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
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
  std::map<std::tuple<std::string, std::int64_t, std::string, int>, const AccessRecord*> last;
  // Long rows first; but 32,768, which every kernel supports, before all.
  const auto order = [](std::int64_t a, std::int64_t b) {
    return std::pair(a == 32768, a) > std::pair(b == 32768, b);
  };
  std::set<std::int64_t, decltype(order)> sizes(order);
  for (const AccessRecord& a : c.accesses)
    if (a.source == "ncu") last[{dtype_of(a.key), a.V, variant_of(a.key), a.k}] = &a, sizes.insert(a.V);
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
