// SPDX-License-Identifier: Apache-2.0
// What only a kernel's own page shows: its head, its accuracy beside that of peers, its accesses and its
// speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reference/problem.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep/data/statistics.hpp"

namespace assay::page {
namespace {

struct Name {
  std::string variant, dtype, backend;
};

/// The parts of "online_block/f32@cuda".
Name parts_of(const std::string& key) {
  const auto at = key.rfind('@'), slash = key.rfind('/', at);
  if (slash == std::string::npos || at == std::string::npos) return {key, "", ""};
  return {key.substr(0, slash), key.substr(slash + 1, at - slash - 1), key.substr(at + 1)};
}

/// Of the copy; of the read for kernels that write almost nothing. Empty if that was not measured, or if the
/// outputs were wrong.
std::optional<double> share(const SweepRecord& r) {
  const std::optional<double>& s = reads_only(r) ? r.share_of_read : r.share_of_copy;
  if (r.verified == Status::fail || !s || !std::isfinite(*s)) return std::nullopt;
  return s;
}

std::string rounded_share_cell(const KeyTally& k) {
  if (!(k.elements > 0)) return number_cell(std::nullopt);
  const double part = k.rounded / k.elements;
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", part, escape(plain_percent(part)));
}

}  // namespace

/// True if the error of a record is that of all its rows: each was judged, as often as the outputs were, or a
/// wrong output was found. The reason does not tell: one of a sample is another if the sample was not judged.
static bool of_every_row(const SweepRecord& r) {
  if (!r.max_ulp) return false;
  if (std::isinf(*r.max_ulp)) return true;
  const std::optional<Op> op = parse_op(r.op);
  if (!op) return false;
  Problem p;
  p.op = *op, p.rows = r.rows, p.V = r.V, p.k = r.k;
  // Before and after the timing. A single sample is judged once.
  const std::int64_t times = r.once ? 1 : 2;
  return r.verified_elements >= times * r.rows * std::max<std::int64_t>(1, p.out_columns());
}

static Timed::Shape shape_of(const SweepRecord& r) {
  return {r.op, r.dtype, r.family, r.rows, r.V, r.pick()};
}

Timed::Timed(const InFolder& in_folder) {
  std::map<std::int64_t, std::size_t> with_rows;
  for (const SweepRecord& r : in_folder.sweep) {
    const Name n = parts_of(r.key);
    if (r.role == "variant") of[{n.variant, r.dtype}].push_back(&r);
    if (r.role == "variant" && r.V >= kLongRow && share(r)) ++with_rows[r.rows];
    // Of a large output only a few rows may be judged. Their error can not be compared with that of all rows.
    if (r.role != "peer" || !of_every_row(r)) continue;
    double& largest = peers[{r.op, r.dtype}][n.variant].try_emplace(shape_of(r), 0).first->second;
    largest = std::max(largest, *r.max_ulp);
  }
  for (const AccessRecord& a : in_folder.accesses) accesses[parts_of(a.key).variant].push_back(&a);
  for (const auto& [rows, n] : with_rows)
    if (n >= with_rows[usual_rows]) usual_rows = rows;
}

/// By row length, k and family.
using Shares = std::map<std::tuple<std::int64_t, Pick, std::string>, double>;
static Shares shares_of(const Context& c, const std::string& variant, const std::string& dtype) {
  Shares out;
  if (const auto timed = c.timed.of.find({variant, dtype}); timed != c.timed.of.end())
    for (const SweepRecord* r : timed->second)
      if (const auto s = share(*r); s && r->V >= kLongRow && r->rows == c.timed.usual_rows)
        out[{r->V, r->pick(), r->family}] = *s;
  return out;
}

std::optional<Share> share_of_copy(const Context& c, const std::string& variant, const std::string& dtype) {
  const Shares own = shares_of(c, variant, dtype);
  std::vector<Shares> others;
  for (const std::string& d : c.dtypes)
    if (Shares one = shares_of(c, variant, d); d != dtype && !one.empty()) others.push_back(std::move(one));
  std::vector<double> all, common;
  for (const auto& [shape, value] : own) {
    all.push_back(value);
    if (std::all_of(others.begin(), others.end(), [&](const Shares& o) { return o.contains(shape); }))
      common.push_back(value);
  }
  if (common.empty()) common = std::move(all);
  if (common.empty()) return std::nullopt;
  return Share{quantile(common, 0.5), *std::min_element(common.begin(), common.end()),
               *std::max_element(common.begin(), common.end()), common.size()};
}

std::optional<BesidePeer> beside_peer(const Context& c, const KeyInfo& key, const std::string& peer) {
  const auto peers = c.timed.peers.find({key.op, key.dtype});
  const auto timed = c.timed.of.find({key.variant, key.dtype});
  if (peers == c.timed.peers.end() || timed == c.timed.of.end()) return std::nullopt;
  const auto shapes = peers->second.find(peer);
  if (shapes == peers->second.end()) return std::nullopt;
  BesidePeer both;
  for (const SweepRecord* r : timed->second) {
    const auto at = shapes->second.find(shape_of(*r));
    if (r->key != key.key || !of_every_row(*r) || at == shapes->second.end()) continue;
    both.own = std::max(both.own, *r->max_ulp), both.peer = std::max(both.peer, at->second), ++both.shapes;
  }
  return both.shapes > 0 ? std::optional(both) : std::nullopt;
}

/// A row for each dtype, a column for each peer. "" if no peer of its op was timed in this folder.
static std::string beside_peers(const Context& c) {
  std::map<std::string, std::map<std::string, BesidePeer>> seen;  // by peer, key
  for (const KeyTally* k : c.keys)
    if (const auto at = c.timed.peers.find({k->info.op, k->info.dtype}); at != c.timed.peers.end())
      for (const auto& [peer, shapes] : at->second)
        if (const auto both = beside_peer(c, k->info, peer)) seen[peer][k->info.key] = *both;
  if (seen.empty()) return "";
  std::string table = "<table><thead><tr><th>key</th>";
  for (const auto& [peer, of] : seen) table += "<th class=\"n\">" + escape(peer) + "</th>";
  table += "</tr></thead><tbody>";
  for (const KeyTally* k : c.keys) {
    table += fmt::format("<tr><th><code>{}</code></th>", escape(k->info.dtype + "@" + k->info.backend));
    for (const auto& [peer, of] : seen) {
      const auto at = of.find(k->info.key);
      table += at == of.end()
                   ? number_cell(std::nullopt)
                   : number_cell(at->second.peer, fmt::format("<small>this kernel {}<br>{} shape{}</small>",
                                                              number(at->second.own), at->second.shapes,
                                                              at->second.shapes == 1 ? "" : "s"));
    }
    table += "</tr>";
  }
  return "<h3>Beside its peers: max ULP on the timed rows</h3><p>The peer's figure, and below it that of "
         "this "
         "kernel at the same shapes, for the same inputs. Only shapes count at which every row of both was "
         "judged, or "
         "at which a row was seen to be wrong: inf is a wrong output.</p>" +
         scroll(table + "</tbody></table>");
}

std::string accuracy(const Context& c) {
  std::string table =
      open_table({"key", "#max ULP, ordinary rows", "#max ULP, all rows", "#p99 ULP, ordinary",
                  "#correctly rounded", "#error/bound", "#without the last rounding", "#pass / records"}) +
      "<tbody>";
  for (const KeyTally* k : c.keys)
    table += fmt::format("<tr><th><code>{}</code>{}</th>", escape(k->info.dtype + "@" + k->info.backend),
                         k->info.not_run.empty()
                             ? ""
                             : "<small>not run: " + escape(shorten(k->info.not_run, 80)) + "</small>") +
             extreme_cell(k->ordinary, true) + extreme_cell(k->all(&Record::max_ulp), true) +
             extreme_cell(k->ordinary_p99, false) + rounded_share_cell(*k) + ratio_cell(k->bound, true) +
             ratio_cell(k->excess, true) +
             fmt::format("<td class=\"n\" data-v=\"{}\">{} / {}</td></tr>", k->passed(), grouped(k->passed()),
                         grouped(k->records()));
  return "<p><em>Ordinary rows</em> are logits and attention scores of real networks, and N(0, 1). A right "
         "kernel "
         "may have a large error on other rows: x &minus; m is rounded once before the exponential. "
         "error/bound of "
         "at most 1 means that every judged element, row sum and ratio is within the error that is proved "
         "for the "
         "kernel's algorithm.</p>" +
         scroll(table + "</tbody></table>") + beside_peers(c);
}

std::string accesses(const Context& c) {
  const std::optional<Op> op = c.keys.empty() ? std::nullopt : parse_op(c.keys.front()->info.op);
  const bool keeps = op && keeps_a_set(*op);
  std::string table =
      open_table({"key", "counted by", "#rows", "#V", keeps ? "#threshold" : "#k", "#claimed loads", "#loads",
                  "#claimed stores", "#stores", "#memory reads", "#memory writes"}) +
      "<tbody>";
  bool any = false;
  const auto claim = [](const std::optional<int>& v) {
    return number_cell(v ? std::optional<double>(*v) : std::nullopt);
  };
  const auto counted = c.timed.accesses.find(c.variants.front());
  for (const AccessRecord* one :
       counted == c.timed.accesses.end() ? std::vector<const AccessRecord*>() : counted->second) {
    const AccessRecord& a = *one;
    const Name n = parts_of(a.key);
    any = true;
    table += fmt::format("<tr><th><code>{}</code></th><td>{}</td>", escape(n.dtype + "@" + n.backend),
                         a.source == "ncu" ? "the GPU's counters" : "the host executor") +
             count_cell(a.rows) + count_cell(a.V) + (keeps ? number_cell(a.threshold) : count_cell(a.k)) +
             claim(a.claimed_loads) + number_cell(a.loads) + claim(a.claimed_stores) + number_cell(a.stores) +
             number_cell(a.dram_read) + number_cell(a.dram_write) + "</tr>";
  }
  std::string out = "<p>Accesses to global memory per element, loads + stores. The kernel claims ";
  std::set<std::string> claims;
  for (const KeyTally* k : c.keys)
    if (!k->info.accesses.empty()) claims.insert(k->info.accesses);
  std::string list;
  for (const std::string& text : claims) list += (list.empty() ? "" : ", ") + escape(text);
  out += (list.empty() ? "none" : "<b>" + list + "</b>") + ".</p>";
  if (!any)
    return out +
           "<p class=\"mute\">They were not counted in this folder (<code>assay sweep accesses "
           "--out</code> does).</p>";
  return out + scroll(table + "</tbody></table>");
}

std::string speed(const Context& c) {
  std::map<std::tuple<std::string, std::string, std::int64_t, Pick>, std::vector<const SweepRecord*>> lines;
  for (const std::string& d : c.dtypes)
    if (const auto timed = c.timed.of.find({c.variants.front(), d}); timed != c.timed.of.end())
      for (const SweepRecord* r : timed->second)
        if (r->median_us) lines[{r->backend, r->dtype, r->rows, r->pick()}].push_back(r);
  if (lines.empty())
    return "<p class=\"mute\">This kernel was not timed in this folder (<code>assay sweep --out</code> "
           "does).</p>";
  std::string figures;
  for (auto& [line, records] : lines) {
    const auto& [backend, dtype, rows, pick] = line;
    std::stable_sort(records.begin(), records.end(), [](auto* a, auto* b) { return a->V < b->V; });
    std::vector<Plot::Point> points;
    for (const SweepRecord* r : records) {
      const auto s = share(*r);
      if (s)
        points.push_back({static_cast<double>(r->V), *s,
                          fmt::format("V = {}: {} of the {}, {} us", grouped(r->V), plain_percent(*s),
                                      reads_only(*r) ? "read" : "copy", plain_number(*r->median_us))});
    }
    if (points.size() < 2) continue;
    Plot plot({points.front().x, points.back().x, true, "V"}, {0, 1.2, false, "share of the copy"},
              fmt::format("share of the copy over V, {}, {} row{}", dtype, rows, rows == 1 ? "" : "s"));
    plot.horizontal(1, "mark");
    plot.line(points, "ln " + dtype_class(dtype));
    plot.points(points, dtype_marker(dtype), dtype_class(dtype));
    figures += fmt::format("<figure><figcaption>{} {}, {} row{}{}</figcaption>{}</figure>", escape(backend),
                           escape(dtype), grouped(rows), rows == 1 ? "" : "s",
                           behind_name(records.front()->op, pick), plot.str());
  }
  return "<p>1 is the speed of a copy on the same machine, of the bytes that any kernel must move. For "
         "kernels that write almost nothing it is the speed of a read.</p><div class=\"panels\">" +
         figures +
         "</div><p>Hold the pointer over a point to see its time. All times are in "
         "<code>sweep.jsonl</code>.</p>";
}

}  // namespace assay::page
