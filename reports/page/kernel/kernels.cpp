// SPDX-License-Identifier: Apache-2.0
// The table of index.html: a row per kernel. Failing kernels come first, then the most accurate ones.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

/// One kernel on one backend.
struct Row {
  std::string variant;
  std::vector<const KeyTally*> keys;  // by dtype, as Context::dtypes; null: it has no such key
  std::int64_t records = 0, passed = 0, bad = 0, unsupported = 0, coarse = 0;
  bool barely = false;  // one of its keys was barely judged
  std::string not_run;
  double merit = INFINITY;  // the largest error/bound without the last rounding

  int rank() const { return bad > 0 ? 0 : passed == 0 ? 3 : barely ? 2 : 1; }
};

std::vector<Row> rows_of(const Context& c, const std::string& backend) {
  std::vector<Row> out;
  for (const std::string& variant : c.variants) {
    Row row;
    row.variant = variant;
    bool any = false;
    double merit = -1;
    for (const std::string& d : c.dtypes) {
      const KeyTally* k = c.find_key(variant, d, backend);
      row.keys.push_back(k);
      if (!k) continue;
      any = true;
      row.records += k->records(), row.passed += k->passed(), row.bad += k->bad();
      row.unsupported += k->status[Status::unsupported], row.coarse += k->coarse;
      row.barely |= k->barely_judged();
      if (!k->info.not_run.empty()) row.not_run = k->info.not_run;
      if (k->excess.any()) merit = std::max(merit, k->excess.value);
    }
    if (merit >= 0) row.merit = merit;
    if (any) out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const Row& a, const Row& b) {
    return std::make_pair(a.rank(), a.merit) < std::make_pair(b.rank(), b.merit);
  });
  return out;
}

/// Failing first, when the column is sorted.
std::string verdict_cell(const Row& row) {
  if (row.bad > 0)
    return fmt::format(
        "<td class=\"nw\" data-v=\"0\"><b class=\"bad\">fail</b><small>{} of {} cases</small></td>",
        grouped(row.bad), grouped(row.records));
  if (row.passed == 0)
    return fmt::format("<td class=\"nw mute\" data-v=\"1\"{}>{}</td>",
                       row.not_run.empty() ? "" : " title=\"" + escape(row.not_run) + "\"",
                       row.not_run.empty() ? "not judged" : "not run");
  std::string note = grouped(row.passed) + " cases";
  if (row.coarse > 0) note += fmt::format(", {} too coarse to judge", grouped(row.coarse));
  if (row.unsupported > row.coarse)
    note += fmt::format(", {} outside", grouped(row.unsupported - row.coarse));
  if (row.barely)
    return fmt::format("<td class=\"nw\" data-v=\"1\"><b class=\"warn\">in part</b><small>{}</small></td>",
                       note);
  return fmt::format("<td class=\"nw\" data-v=\"2\"><b class=\"good\">pass</b><small>{}</small></td>", note);
}

std::string with_edge(std::string cell) {
  const auto at = cell.find("class=\"n");
  return at == std::string::npos ? cell : cell.insert(at + 8, " edge");
}

std::string share_cell(const std::optional<Share>& s) {
  if (!s) return number_cell(std::nullopt);
  return fmt::format(
      "<td class=\"n ratio\" data-v=\"{}\" title=\"median of {} row lengths: {} to {}\">{}"
      "<i style=\"width:{:.0f}%\"></i></td>",
      s->median, s->shapes, plain_percent(s->least), plain_percent(s->most), plain_percent(s->median),
      std::clamp(100 * s->median, 0.0, 100.0));
}

std::string heads(const Context& c) {
  std::string out;
  for (std::size_t i = 0; i < c.dtypes.size(); ++i)
    out += fmt::format("<th class=\"n{}\">{}</th>", i == 0 ? " edge" : "", escape(c.dtypes[i]));
  return out;
}

template <class Cell>
std::string cells(const Row& row, const Cell& cell) {
  std::string out;
  for (std::size_t i = 0; i < row.keys.size(); ++i) {
    const std::string one = row.keys[i] ? cell(*row.keys[i]) : number_cell(std::nullopt);
    out += i == 0 ? with_edge(one) : one;
  }
  return out;
}

/// The kernel's error where peers were judged too, and below it the most accurate peer; the others in the
/// tooltip.
std::string peer_cell(const Context& c, const KeyTally& k) {
  const auto at = c.timed.peers.find({k.info.op, k.info.dtype});
  if (at == c.timed.peers.end()) return number_cell(std::nullopt);
  std::string all, name;
  std::optional<BesidePeer> best;
  for (const auto& [peer, shapes] : at->second) {
    const std::optional<BesidePeer> both = beside_peer(c, k.info, peer);
    if (!both) continue;
    all += fmt::format("{}{} {} ({} at {} shapes)", all.empty() ? "" : ", ", peer, plain_number(both->peer),
                       plain_number(both->own), both->shapes);
    // A peer that was wrong at the only shapes they share says nothing of how accurate peers are.
    if (std::isfinite(both->peer) && (!best || both->peer < best->peer)) best = both, name = peer;
  }
  if (!best && all.empty()) return number_cell(std::nullopt);
  if (!best)
    return "<td class=\"n mute\" title=\"at the shapes that both were judged at, every peer was wrong: " +
           escape(all) + "\">" + kDash + "</td>";
  return fmt::format(
      "<td class=\"n\" data-v=\"{}\" title=\"peers, and this kernel at their shapes: "
      "{}\">{}<small class=\"wrap\">{} {}</small></td>",
      best->own, escape(all), number(best->own), escape(name.substr(0, name.find("_softmax"))),
      number(best->peer));
}

std::string resolution_of(const KeyTally& k) {
  if (!k.passes.coarsest.any()) return number_cell(std::nullopt);
  return fmt::format("<td class=\"n\" data-v=\"{}\" title=\"{}, V = {}\">{:.1e}</td>",
                     k.passes.coarsest.value, escape(k.passes.coarsest.family), grouped(k.passes.coarsest.V),
                     k.passes.coarsest.value);
}

std::string contract_cell(const Context& c, const Row& row) {
  std::string out;
  for (const KeyTally* k : row.keys) {
    if (!k) continue;
    const auto at = c.data.contracts.find(k->info.key);
    if (at == c.data.contracts.end()) continue;
    if (!out.empty()) out += "<br>";
    if (row.keys.size() > 1) out += "<b>" + escape(k->info.dtype) + "</b> ";
    out += escape(at->second.within());
  }
  return "<td class=\"wide\">" + (out.empty() ? kDash : out) + "</td>";
}

std::string kernels_on(const Context& c, const std::string& backend) {
  const std::vector<Row> rows = rows_of(c, backend);
  if (rows.empty()) return "";
  const std::string span = fmt::format("<th class=\"group edge\" colspan=\"{}\">", c.dtypes.size());
  const bool timed = std::any_of(c.timed.of.begin(), c.timed.of.end(), [&](const auto& kernel) {
    return kernel.second.front()->backend == backend;
  });
  const bool peers = timed && !c.timed.peers.empty();
  const bool contracts = !c.data.contracts.empty();
  std::string out = "<table class=\"filtered\"><thead><tr><th></th><th></th>";
  if (contracts) out += "<th></th>";
  out +=
      span + "max ULP, ordinary rows</th>" + span +
      "<abbr title=\"of single elements; half an ulp, which rounding the output may cost any kernel, is left "
      "out of the error and of the bound\">error/bound without the last "
      "rounding</abbr></th>";
  out +=
      span +
      "<abbr title=\"the smallest relative error of a typical output that would have been refused on every "
      "input\">resolution</abbr></th>";
  if (timed)
    out += span +
           fmt::format(
               "<abbr title=\"median over the row lengths from V = {} on that were timed at every dtype of "
               "the kernel. For top-k and logsumexp, which write almost nothing, it is the share of the "
               "read.\">share of the copy, {} row{}</abbr></th>",
               grouped(kLongRow), grouped(c.timed.usual_rows), c.timed.usual_rows == 1 ? "" : "s");
  if (peers)
    out += span +
           "<abbr title=\"of this kernel at the shapes at which every row of the most accurate peer was "
           "judged; below "
           "it, that peer\">max ULP, timed rows, and best peer</abbr></th>";
  out += "</tr><tr><th>kernel</th><th>verdict</th>";
  if (contracts) out += "<th>right within</th>";
  out += heads(c) + heads(c) + heads(c) + (timed ? heads(c) : "") + (peers ? heads(c) : "") +
         "</tr></thead><tbody>";
  for (const Row& row : rows) {
    const KeyTally* first = *std::find_if(row.keys.begin(), row.keys.end(), [](auto* k) { return k; });
    out += fmt::format("<tr><th>{}<small>{}{}</small></th>", variant_link(c, row.variant),
                       escape(first->info.op),
                       first->info.algorithm.empty() ? "" : ", " + escape(first->info.algorithm)) +
           verdict_cell(row);
    if (contracts) out += contract_cell(c, row);
    out += cells(row, [](const KeyTally& k) { return extreme_cell(k.ordinary, false); });
    out += cells(row, [](const KeyTally& k) { return ratio_cell(k.excess, false); });
    out += cells(row, resolution_of);
    if (timed)
      out += cells(row, [&](const KeyTally& k) {
        return share_cell(backend == k.info.backend ? share_of_copy(c, row.variant, k.info.dtype)
                                                    : std::nullopt);
      });
    if (peers) out += cells(row, [&](const KeyTally& k) { return peer_cell(c, k); });
    out += "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

}  // namespace

std::string variant_link(const Context& c, const std::string& variant) {
  const auto page = c.page_of.find(variant);
  if (page == c.page_of.end()) return escape(variant);
  return fmt::format("<a href=\"{}\">{}</a>", escape(page->second), escape(variant));
}

constexpr const char* kPeersText =
    "<p><em>max ULP, timed rows</em> has the kernel's own error and, below it, that of its most accurate "
    "peer: at the same "
    "shapes, for the same inputs. Shapes at which only some rows of the kernel or of the peer were judged "
    "are left out, but for wrong outputs (inf). So "
    "a larger figure is the kernel's own, most often that of a faster and less exact exponential. "
    "It can not be compared with the error on ordinary rows, among which are harder ones.</p>";

constexpr const char* kGradientsText =
    "<p>A gradient is a difference that may cancel to almost nothing. So its error in ULP has no limit; its "
    "bound is absolute, "
    "and <em>error/bound</em> is what to look at.</p>";

std::string kernel_table(const Context& c) {
  const bool gradients = std::any_of(c.keys.begin(), c.keys.end(), [](const KeyTally* k) {
    return k->info.op == name(Op::softmax_backward);
  });
  return "<p>Click a kernel's name for its own page. Failing kernels come first, then those that use the "
         "smallest "
         "share of their bound. Hold the pointer over a number to see where it was found.</p>" +
         per_backend(c, kernels_on) +
         "<p><em>Ordinary rows</em> are logits and "
         "attention scores of real networks, and N(0, 1). A correctly rounded result has at most 0.5 ULP. "
         "<em>error/bound without the last rounding</em> tells kernels apart: 0 is a correctly rounded "
         "output, 1 is the limit.</p>" +
         std::string(c.timed.peers.empty() ? "" : kPeersText) + (gradients ? kGradientsText : "");
}

}  // namespace assay::page
