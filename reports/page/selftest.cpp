// SPDX-License-Identifier: Apache-2.0
// The page of the self-test: verdict, counts, which planted faults the rules of other projects would pass,
// and a matrix of all entries and checks.
#include "reports/runs/selftest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accuracy/checks.hpp"
#include "accuracy/selftest/mutant_judge.hpp"
#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/page_texts.hpp"

namespace assay {
namespace {

using page::open_table;
using page::scroll;

std::string counts(const Selftest& s) {
  const SelftestCounts n = count(s);
  return page::count_list({{"faults killed", fmt::format("{} of {}", n.killed, n.faults)},
                           {"cheats refused", fmt::format("{} of {}", n.cheats_refused, n.cheats)},
                           {"by the named check", fmt::format("{}", n.by_name)},
                           {"right kernels accepted", fmt::format("{} of {}", n.accepted, n.right)},
                           {"not run here", fmt::format("{}", n.not_run)},
                           {"seconds", s.seconds > 0 ? number(s.seconds) : kDash}});
}

std::string peers(const Selftest& s) {
  const SelftestCounts n = count(s);
  if (n.compared == 0) return "";
  std::string out = fmt::format(
      "<p>The same {} faults and cheats, judged by rules in common use. The rules are reimplemented from "
      "their documentation, and all compare with the same softmax in double precision. <i>Usual inputs</i>: "
      "those that such tests draw, {} rows of 1024 from N(0, 1), or for benchdnn its own filling. <i>Our "
      "inputs</i>: the row on which the fault is found here. Outputs are zero before the launch. A rule sees "
      "only values. So a kernel that destroys memory, inputs, indices or the sums beside the outputs passes "
      "every rule. A rule may also refuse a right kernel: benchdnn trusts no outputs of which fewer than 8 a "
      "row are not 0, and top_p may keep fewer.</p>",
      n.compared, s.peer_rows);
  std::string table =
      open_table({"rule", "#pass, usual inputs", "#pass, our inputs", "formula", "source"}) + "<tbody>";
  for (std::size_t r = 0; r < kPeerRules; ++r)
    table += fmt::format("<tr><th>{}</th>{}{}<td>{}</td><td>{}</td></tr>", escape(peer::rules()[r].name),
                         page::count_cell(n.pass_usual[r]), page::count_cell(n.pass_killing[r]),
                         escape(peer::rules()[r].formula), escape(peer::rules()[r].source));
  return out + scroll(table + "</tbody></table>");
}

/// The checks that fail for an entry, or that an entry names, in their usual order.
std::vector<std::string> columns(const Selftest& s) {
  std::vector<std::string> out;
  for (int c = 0; c < kChecks; ++c) out.push_back(name(static_cast<Check>(c)));
  for (const SelftestEntry& v : s.entries)
    for (const std::string& f : v.failed)
      if (std::find(out.begin(), out.end(), f) == out.end()) out.push_back(f);
  std::erase_if(out, [&](const std::string& c) {
    return std::none_of(s.entries.begin(), s.entries.end(), [&](const SelftestEntry& v) {
      return c == v.mutant->expect.check || std::find(v.failed.begin(), v.failed.end(), c) != v.failed.end();
    });
  });
  return out;
}

std::string entry_cell(const SelftestEntry& v) {
  const Mutant& m = *v.mutant;
  return fmt::format("<tr><th><code>{}</code><small>{}</small></th><td class=\"nw\">{}</td>", escape(m.fault),
                     escape(what_of(m.id)), escape(m.id));
}

std::string input_cell(const Mutant& m) {
  if (!m.single_case()) return fmt::format("<td class=\"nw\">group {}</td>", escape(m.expect.group));
  std::string shape = fmt::format("V {}", grouped(m.expect.V));
  if (picks(m.variant.op)) shape += ", " + words_of(m.variant.op, m.expect.pick);
  return fmt::format("<td class=\"nw\">{}<small>{}, {}</small></td>", escape(m.expect.family), shape,
                     name(m.variant.dtype));
}

std::string outcome_cell(const SelftestEntry& v) {
  if (!v.ran)
    return fmt::format("<td class=\"mute\">not run<small class=\"wrap\">{}</small></td>", escape(v.detail));
  const bool right = v.mutant->kind == Kind::right;
  const char* word = right ? v.refused ? "refused" : "accepted" : v.refused ? "killed" : "survived";
  return fmt::format("<td class=\"{}\" title=\"{}\">{}</td>", v.as_expected() ? "good" : "bad",
                     escape(shorten(v.detail, 300)), word);
}

std::string peer_cell(const SelftestEntry& v, std::size_t rule) {
  if (!v.peers_ran) return "<td></td>";
  const auto mark = [](bool passes) { return passes ? "pass" : "&ndash;"; };
  return fmt::format("<td class=\"nw{}\">{}<small>{}</small></td>",
                     v.usual[rule] && v.mutant->kind != Kind::right ? " warn" : "", mark(v.usual[rule]),
                     mark(v.killing[rule]));
}

page::Section matrix(const Selftest& s, Kind kind, const char* title, const char* why) {
  const std::vector<std::string> checks = columns(s);
  std::string out = fmt::format("<p>{}</p>", why);
  out +=
      "<div class=\"scroll\" tabindex=\"0\"><table class=\"util "
      "kills\"><thead><tr><th>entry</th><th>id</th><th>input</th>"
      "<th>outcome</th>";
  for (const std::string& c : checks)
    out += fmt::format("<th class=\"tall\"><span>{}</span></th>", escape(c));
  for (const peer::Rule& r : peer::rules())
    out += fmt::format("<th class=\"tall\"><span>{}</span></th>", escape(r.name));
  out += "</tr></thead><tbody>";
  for (const SelftestEntry& v : s.entries) {
    if (v.mutant->kind != kind) continue;
    out += entry_cell(v) + input_cell(*v.mutant) + outcome_cell(v);
    for (const std::string& c : checks) {
      const bool failed = std::find(v.failed.begin(), v.failed.end(), c) != v.failed.end();
      const bool named = c == v.mutant->expect.check;
      out += fmt::format("<td class=\"{}\">{}</td>",
                         failed && named  ? "u-edge"
                         : failed         ? "u-some"
                         : named && v.ran ? "u-over"
                                          : "",
                         failed  ? "&#9679;"
                         : named ? "&#9675;"
                                 : "");
    }
    for (std::size_t r = 0; r < kPeerRules; ++r) out += peer_cell(v, r);
    out += "</tr>";
  }
  return {name(kind), title, out + "</tbody></table></div>"};
}

std::string missing() {
  std::string table = open_table({"fault", "id", "why"}) + "<tbody>";
  for (const CatalogueEntry& e : catalogue())
    if (*e.missing)
      table += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>", escape(e.what), escape(e.id),
                           escape(e.missing));
  return scroll(table + "</tbody></table>");
}

}  // namespace

std::string render_selftest_page(const Selftest& s) {
  page::Frame f;
  f.passed = selftest_passed(s);
  f.verdict = selftest_word(s);
  f.subject = "who tests the tester";
  f.heading = "Who tests the tester";
  f.about =
      "Kernels with one planted fault each, kernels that cheat, and right kernels, all judged like any other "
      "kernel. The check that an entry names must refuse its fault, on the input that the entry names. A "
      "right kernel must pass: a false alarm is as bad as a miss.";
  if (!s.part.empty()) f.sentence = "This is " + escape(s.part) + " of a run: ";
  f.sentence += escape(selftest_verdict(s));
  f.facts = counts(s);
  if (!s.environment.empty()) f.below = page::where_made(s.environment);
  if (std::string html = peers(s); !html.empty())
    f.sections.push_back({"peers", "What the rules of others let through", std::move(html)});
  f.sections.push_back(
      matrix(s, Kind::fault, "Faults",
             "A filled circle is a check that failed. If the cell is dark, the entry names this check. The "
             "last columns say whether the rules of other projects would pass the kernel: on their usual "
             "inputs, and below that on ours."));
  f.sections.push_back(matrix(s, Kind::cheat, "Cheats", "Kernels that try to look right."));
  f.sections.push_back(
      matrix(s, Kind::right, "Right kernels", "Each has the claim that its author would write."));
  f.sections.push_back({"missing", "Faults that no kernel here can have", missing()});
  f.css = page::selftest_css;
  return page::framed(f);
}

}  // namespace assay
