// SPDX-License-Identifier: Apache-2.0
// Two sections: how sharp the bounds are (a row per key, a column per family), and what every key claims
// and behaves like.
#include "reports/runs/utilisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "accuracy/verdict/behaves_like.hpp"
#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

/// Six steps, one colour each. A sharp bound gives values from 0.3 to 0.9.
const char* shade(double u) {
  if (!(u <= 1)) return "u-over";
  if (u > 0.9) return "u-edge";
  if (u >= 0.3) return "u-sharp";
  if (u >= 0.03) return "u-some";
  if (u >= kDefectOfBound) return "u-low";
  return "u-none";
}

/// 0.357 as ".35": two digits and no leading zero, because many columns have to fit.
std::string digits(double u) {
  if (!std::isfinite(u)) return "&infin;";
  if (u >= 1) return fmt::format("{:.3g}", u);
  if (u < kDefectOfBound) return u == 0 ? "0" : "&lt;.001";
  // Truncates: 0.999 must not read as 1.
  const double unit = u < 0.1 ? 1000 : 100;
  return fmt::format("{:.{}f}", std::floor(u * unit) / unit, u < 0.1 ? 3 : 2).substr(1);
}

std::string matrix_of_families(const Context& c, const std::string& backend) {
  std::set<std::string> shown;
  bool any = false;
  for (const KeyTally* k : c.keys)
    if (k->info.backend == backend)
      for (const auto& [family, its] : k->families) {
        any = any || its.bound.any();
        if (its.bound.any() && its.bound.value > 0) shown.insert(family);
      }
  if (!any) return "";
  std::string out = "<table class=\"util\"><thead><tr><th>key</th>";
  for (const FamilyInfo& f : c.data.families)
    if (shown.contains(f.name)) out += "<th class=\"tall\"><span>" + escape(f.name) + "</span></th>";
  out += "</tr></thead><tbody>";
  for (const KeyTally* k : c.keys) {
    const auto judged = [](const auto& family) { return family.second.bound.any(); };
    if (k->info.backend != backend || std::none_of(k->families.begin(), k->families.end(), judged)) continue;
    out += fmt::format("<tr><th>{} <b class=\"{}\">{}</b></th>", escape(k->info.variant),
                       dtype_class(k->info.dtype), escape(k->info.dtype));
    for (const FamilyInfo& f : c.data.families) {
      if (!shown.contains(f.name)) continue;
      const auto cell = k->families.find(f.name);
      if (cell == k->families.end() || !cell->second.bound.any()) {
        out += "<td></td>";
        continue;
      }
      const Extreme& e = cell->second.bound;
      out += fmt::format("<td class=\"{}\" data-v=\"{:.3g}\" title=\"{}, {}, V = {}: {}\">{}</td>",
                         shade(e.value), e.value, escape(k->info.key), escape(f.name), grouped(e.V),
                         plain_number(e.value), digits(e.value));
    }
    out += "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

std::string by_check(const Context& c, const std::string& backend) {
  std::map<std::string, std::map<std::string, Extreme>> rows;
  std::vector<std::string> order;
  for (const ClassUtilisation& u : class_utilisation(c.keys)) {
    if (u.backend != backend || !u.largest.any()) continue;
    if (!rows.contains(u.kind)) order.push_back(u.kind);
    rows[u.kind][u.check] = u.largest;
  }
  if (rows.empty()) return "";
  std::string out = open_table({"class", "#element", "#coherence", "#row sum", "#normalizer"}) + "<tbody>";
  for (const std::string& kind : order) {
    out += "<tr><th>" + escape(kind) + "</th>";
    for (const char* check : kBoundChecks) out += ratio_cell(rows[kind][check], true);
    out += "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

std::string defects(const Context& c) {
  std::string out;
  for (const ClassUtilisation& u : class_utilisation(c.keys))
    if (u.largest.value < kDefectOfBound && !u.hidden)
      out += fmt::format(
          "<li><b>defect of the bound</b>: {} on <code>@{}</code>, check {}: at most {} over "
          "{} comparisons</li>",
          escape(u.kind), escape(u.backend), u.check, plain_number(u.largest.value), grouped(u.judged));
  return out.empty() ? "<p>No class has a check that stays under 0.001 on every family.</p>"
                     : "<ul class=\"warnings\">" + out + "</ul>";
}

std::string legend() {
  std::string out = "<ul class=\"legend\">";
  const std::pair<const char*, const char*> steps[] = {
      {"u-none", "under 0.001"},        {"u-low", "to 0.03"},   {"u-some", "to 0.3"},
      {"u-sharp", "0.3 to 0.9: sharp"}, {"u-edge", "0.9 to 1"}, {"u-over", "over 1: fails"}};
  for (const auto& [css, text] : steps)
    out += fmt::format("<li><span class=\"swatch {}\"></span>{}</li>", css, text);
  return out + "</ul>";
}

/// The evidence as a list. Items that refute the claim are marked.
std::string evidence_list(const Record& r) {
  std::string out = "<details><summary>evidence</summary><ul>";
  for (std::size_t i = 0; i < r.evidence.size(); ++i) {
    const bool refuted = i < r.probes.size() && r.probes[i].refuted > 0;
    out += fmt::format("<li{}>{}</li>", refuted ? " class=\"bad\"" : "", escape(shorten(r.evidence[i], 700)));
  }
  return out + "</ul></details>";
}

std::string behaviour_table(const Context& c, const std::string& backend) {
  std::string out = open_table({"key", "claims", "behaves like", "claim holds"}) + "<tbody>";
  bool any = false;
  for (const KeyTally* k : c.keys)
    for (const Record& r : k->probes) {
      if (k->info.backend != backend) continue;
      any = true;
      const CheckResult* const claim = find_check(r, Check::claim);
      std::string sharper;
      for (const ProbeResult& p : r.probes)
        if (p.sharper) sharper += (sharper.empty() ? "" : ", ") + p.trait;
      out += fmt::format(
          "<tr><th><code>{}</code></th><td>{}</td><td>{}{}{}</td><td>{}<small>{}</small></td></tr>",
          escape(r.key), escape(k->info.claimed), r.behaves_like.empty() ? kDash : escape(r.behaves_like),
          sharper.empty() ? ""
                          : "<small class=\"wrap\">sharper than claimed: " + escape(sharper) + "</small>",
          evidence_list(r), status_word(r.status),
          !claim ? escape(r.reason)
                 : fmt::format("{} of {} consequences", grouped(claim->judged - claim->failed),
                               grouped(claim->judged)));
    }
  return any ? "<div class=\"behaves\">" + scroll(out + "</tbody></table>") + "</div>" : "";
}

}  // namespace

std::string utilisation(const Context& c) {
  return "<p>The largest error/bound of each key on each family, over all V (row lengths) and the checks "
         "element, coherence, row sum and normalizer. A right kernel cannot exceed 1. A pale column is a "
         "family that tests little. A pale row is a kernel whose bound tests little. Hold the pointer over a "
         "cell to see its V.</p>" +
         legend() + per_backend(c, matrix_of_families) +
         "<h3>The same by class and check</h3><p>Kernels of one class claim the same, so they have the same "
         "bounds. Each cell has the largest error/bound of a check.</p>" +
         defects(c) + per_backend(c, by_check);
}

std::string behaviour(const Context& c) {
  return "<p>The claim decides the bound, so with a false claim a larger bound could hide a fault. Probes "
         "run each key on rows for which its claim allows a single value, or a few: equal logits, two "
         "logits, a divisor that is known exactly, ramps up and down. A claim is refuted only by proof, and "
         "the evidence shows it. What a 16-bit output hides stays open. A kernel may be sharper than it "
         "claims.</p>" +
         per_backend(c, behaviour_table);
}

// The smallest error that the judgements of this page would have refused, by key and row length V.

namespace {

std::string resolution_cell(const CoarsestResolution& e) {
  if (!e.any()) return number_cell(std::nullopt);
  return fmt::format(
      "<td class=\"n\" data-v=\"{}\" title=\"{}, V = {}; common to a whole row: {:.2g}\">{:.2g}</td>",
      e.value, escape(e.family), grouped(e.V), e.row, e.value);
}

std::string resolution_table(const Context& c, const std::string& backend) {
  std::string out = "<table><thead><tr><th>key</th>";
  for (std::size_t i = 0; i < kLengthSteps.size(); ++i)
    out += fmt::format("<th class=\"n\">{}to {}</th>", i == 0 ? "V " : "", grouped(kLengthSteps[i]));
  out += "<th class=\"n\">longer</th></tr></thead><tbody>";
  bool any = false;
  for (const KeyTally* k : c.keys) {
    const auto seen = [](const CoarsestResolution& e) { return e.any(); };
    if (k->info.backend != backend || std::none_of(k->resolution.begin(), k->resolution.end(), seen))
      continue;
    any = true;
    out += fmt::format("<tr><th>{} <b class=\"{}\">{}</b></th>", escape(k->info.variant),
                       dtype_class(k->info.dtype), escape(k->info.dtype));
    for (const CoarsestResolution& e : k->resolution) out += resolution_cell(e);
    out += "</tr>";
  }
  return any ? scroll(out + "</tbody></table>") : "";
}

}  // namespace

std::string resolution(const Context& c) {
  return "<p>The error that a typical output may have and still pass, relative to its exact value. A pass "
         "says no more than that. For a logarithm the error is absolute, and logarithms so far from 0 that "
         "their last place is coarser than 0.001 are left out. Each cell has the coarsest pass of a key. "
         "Hold the pointer over a number to see where it is, and by how much a whole row may be off.</p>" +
         per_backend(c, resolution_table);
}

}  // namespace assay::page
