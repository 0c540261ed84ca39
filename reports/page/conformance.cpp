// SPDX-License-Identifier: Apache-2.0
// The page's section on conformance: the results of every group of cases, what failing cases have in common,
// and the failing cases themselves.
#include <fmt/format.h>

#include <algorithm>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

std::string groups_table(const std::vector<GroupTally>& groups) {
  std::string out = open_table({"group", "#pass", "#fail", "#crashed", "#hung", "#inconclusive",
                                "#unsupported", "#not run", "why unsupported"}) +
                    "<tbody>";
  for (const GroupTally& g : groups) {
    out += "<tr><th>" + escape(g.group) + "</th>";
    for (const std::int64_t n : {g.pass, g.fail, g.crashed, g.hung, g.inconclusive, g.unsupported, g.not_run})
      out += count_cell(n);
    out += "<td class=\"wide\">" + escape(shorten(g.unsupported_reason, 160)) + "</td></tr>";
  }
  return scroll(out + "</tbody></table>");
}

std::string failing_cases(const KeyConformance& of) {
  if (of.failing.empty()) return "";
  using Failing = KeyConformance::FailingCase;
  const std::vector<SizeInfo> sizes = sizes_of_all(of.failing, [](const Failing& r) { return r.op; });
  std::string rows;
  for (const Failing& r : of.failing) {
    std::string numbers;
    for (const SizeCell& cell : cells_of(sizes, r.op, r))
      numbers += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", cell.sort, cell.text);
    rows += fmt::format("<tr><td>{}</td><td>{} {}</td>{}<td>{}</td><td class=\"wide\">{}<br>{}</td></tr>",
                        escape(r.group), escape(r.family), escape(r.setup), numbers, status_word(r.status),
                        escape(r.detail), command(r.reproduce));
  }
  std::string heads;
  for (const SizeInfo& s : sizes) heads += fmt::format("<th class=\"n\">{}</th>", escape(s.name));
  return fmt::format("<details><summary>{} of {} failing cases</summary>", of.failing.size(),
                     grouped(of.failing_cases)) +
         scroll("<table><thead><tr><th>group</th><th>inputs</th>" + heads +
                "<th>status</th><th>what, and the command that repeats it</th></tr></thead><tbody>" + rows +
                "</tbody></table>") +
         "</details>";
}

/// The limits within which the kernel is right: one row per axis.
std::string contract_table(const assay::conformance::Contract& contract, bool right) {
  using State = assay::conformance::Axis::State;
  std::string out = std::string(right ? "<p>Right within: <b>" : "<p>Cases fail within: <b>") +
                    escape(contract.within()) + "</b>.</p>";
  if (!contract.required.empty()) out += "<p>Required: <b>" + escape(contract.required) + "</b>.</p>";
  for (const std::string& why : contract.uncovered)
    out += "<p class=\"bad\">It does not cover what is required: " + escape(why) + ".</p>";
  if (!contract.own.empty())
    out +=
        "<p>Limits that only the kernel's own file declares: <code>" + escape(contract.own) + "</code>.</p>";
  if (right && contract.limited())
    out += "<p>To make it official: " + command("--declare '" + contract.to_declare() + "'") + "</p>";
  if (!contract.outside.empty()) {
    out += "<p>Seen outside these limits:</p><ul>";
    for (const std::string& o : contract.outside) out += "<li>" + escape(o) + "</li>";
    out += "</ul>";
  }
  std::string table = open_table({"axis", "state", "inside the contract", "seen outside"}) + "<tbody>";
  for (const assay::conformance::Axis& a : contract.axes)
    table += fmt::format("<tr><th>{}</th><td{}>{}</td><td>{}</td><td class=\"wide\">{}</td></tr>",
                         escape(a.name), a.state == State::wrong ? " class=\"bad\"" : "", name(a.state),
                         escape(a.within), escape(a.outside));
  return out + scroll(table + "</tbody></table>");
}

}  // namespace

std::string findings_list(const std::string& key, const KeyConformance& of, std::size_t most) {
  if (of.findings.empty()) return "";
  std::string out = key.empty() ? "" : "<p><code>" + escape(key) + "</code></p>";
  out += "<ol class=\"findings\">";
  for (std::size_t i = 0; i < of.findings.size() && i < most; ++i) {
    const KeyConformance::Finding& f = of.findings[i];
    out += fmt::format("<li>{} <b>{}</b>: {} of {} cases ({})", status_word(f.status), escape(f.group),
                       grouped(f.failed), grouped(f.of), escape(f.checks));
    const std::string likely = f.likely.empty() ? "" : ". Likely cause: <b>" + escape(f.likely) + "</b>";
    if (f.vague) out += likely;
    if (!f.where.empty()) out += (f.vague && !likely.empty() ? "; " : ": ") + escape(f.where);
    if (!f.also.empty()) out += "; with " + escape(f.also);
    if (!f.vague) out += likely;
    out += fmt::format(".<br>{}", escape(shorten(f.detail, 400)));
    if (!f.nearest.empty()) out += "<br>The nearest class: " + escape(f.nearest);
    if (!f.declares.empty())
      out += "<br>If no row is ever longer, say so, and it is judged within that: <code>--declare '" +
             escape(f.declares) + "'</code>";
    if (!f.calls_reproduce.empty()) out += "<br>" + command(f.calls_reproduce);
    out += "<br>" + command(f.reproduce) + "</li>";
  }
  return out + "</ol>";
}

std::string conformance(const Context& c) {
  std::string out =
      "<p>Each group of cases looks for one kind of fault. For failing cases, the page first gives the "
      "simplest rule that separates them from the passing ones, and what usually causes it. The failing "
      "cases are listed below that.</p>";
  for (const KeyTally* k : c.keys) {
    const KeyConformance& its = k->conformance;
    if (its.groups.empty()) continue;
    out += "<h3><code>" + escape(k->info.key) + "</code></h3>";
    if (c.data.quick)
      out += fmt::format(
          "<p>This was a quick check: {}. The whole check tries all of them, and more rows, layouts and "
          "calls.</p>",
          its.lengths_tried);
    if (const auto contract = c.data.contracts.find(k->info.key); contract != c.data.contracts.end())
      out += contract_table(contract->second, k->right());
    out +=
        groups_table(its.groups) + findings_list("", its, KeyConformance::kMostFindings) + failing_cases(its);
  }
  return out;
}

}  // namespace assay::page
