// SPDX-License-Identifier: Apache-2.0
// The page of a history: what changed last, then a small plot per kernel and figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/history/history.hpp"
#include "reports/page/parts.hpp"

namespace assay {
namespace {

using page::number_cell;
using page::open_table;
using page::scroll;

struct KeyParts {
  std::string variant, dtype, backend;
};
KeyParts split_key(const std::string& key) {
  const auto at = key.rfind('@'), slash = key.rfind('/', at);
  if (at == std::string::npos || slash == std::string::npos) return {key, "", ""};
  return {key.substr(0, slash), key.substr(slash + 1, at - slash - 1), key.substr(at + 1)};
}

/// The name under which a run stands on the axis and in tables.
std::string label_of(const HistoryRun& run, std::size_t i) {
  return fmt::format("{}: {}", i + 1, run.commit.empty() ? run.folder : run.commit);
}

/// A link, where the folder holds a page and can be reached from the history's own.
std::string folder_link(const HistoryRun& run) {
  if (run.page.empty()) return escape(run.folder);
  return fmt::format("<a href=\"{}\">{}</a>", escape(run.page), escape(run.folder));
}

std::string runs_table(const std::vector<HistoryRun>& runs) {
  std::string out = open_table({"#run", "commit", "machine", "extent", "folder", "#keys"}) + "<tbody>";
  for (std::size_t i = 0; i < runs.size(); ++i)
    out += fmt::format("<tr><th class=\"n\">{}</th><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td>",
                       i + 1, escape(runs[i].commit), escape(runs[i].machine),
                       runs[i].quick ? "quick" : "whole", folder_link(runs[i])) +
           page::count_cell(static_cast<std::int64_t>(runs[i].keys.size())) + "</tr>";
  return scroll(out + "</tbody></table>");
}

std::string changes_table(const std::vector<HistoryChange>& changes) {
  if (changes.empty()) return "<p>No figure of any key changed in the last report.</p>";
  std::string out = open_table({"key", "figure", "#before", "#after", "since run of"}) + "<tbody>";
  for (const HistoryChange& c : changes)
    out += fmt::format("<tr><th><code>{}</code></th><td class=\"{}\">{} is {}</td>", escape(c.key),
                       c.worse ? "bad" : "good", escape(c.figure), c.worse ? "worse" : "better") +
           number_cell(c.before) + number_cell(c.after) +
           fmt::format("<td>{}</td></tr>", escape(c.before_run));
  return scroll(out + "</tbody></table>");
}

struct DrawnFigure {
  const char *id, *title, *axis;
  std::optional<double> HistoryPoint::*value;
  bool log;
};
constexpr DrawnFigure kDrawnFigures[] = {
    {"accuracy", "Accuracy: max ULP on ordinary rows", "ULP", &HistoryPoint::ulp, true},
    {"merit", "Accuracy: error/bound without the last rounding", "share of the bound", &HistoryPoint::excess,
     false},
    {"speed", "Speed: share of the copy", "share of the copy", &HistoryPoint::share, false},
};

/// A panel per variant and backend, a line per dtype, all with the same axes.
std::string drawn(const std::vector<HistoryRun>& runs, const DrawnFigure& f) {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<Plot::Point>>> panels;
  double least = INFINITY, most = 0;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& [key, p] : runs[i].keys) {
      const std::optional<double>& v = p.*f.value;
      if (!v || !std::isfinite(*v)) continue;
      const KeyParts k = split_key(key);
      panels[{k.variant, k.backend}][k.dtype].push_back(
          {static_cast<double>(i + 1), *v,
           fmt::format("{} {}, run {}: {}", k.variant, k.dtype, label_of(runs[i], i), plain_number(*v))});
      if (*v > 0) least = std::min(least, *v);
      most = std::max(most, *v);
    }
  if (panels.empty()) return "";
  Axis y{0, most > 0 ? 1.1 * most : 1, false, f.axis};
  if (f.log && std::isfinite(least))
    y = {std::pow(10, std::floor(std::log10(std::max(least, 1e-9)))),
         std::pow(10, std::ceil(std::log10(most) + 1e-9)), true, f.axis};
  const Axis x{1, std::max(2.0, static_cast<double>(runs.size())), false, "run", true};
  std::size_t letters = 0;
  for (const auto& [where, lines] : panels)
    for (const auto& [dtype, points] : lines) letters = std::max(letters, dtype.size());
  std::string out = "<div class=\"panels\">";
  for (const auto& [where, lines] : panels) {
    Plot plot(x, y, fmt::format("{}: {} over runs", where.first, f.axis));
    std::vector<Plot::Label> ends;
    plot.leave_room_at_right(letters);
    for (const auto& [dtype, points] : lines) {
      const std::string css = page::dtype_class(dtype);
      plot.line(points, "ln " + css);
      plot.points(points, page::dtype_marker(dtype), css);
      ends.push_back({points.back().x, points.back().y, dtype});
    }
    plot.names_of_ends(ends);
    out += fmt::format("<figure><figcaption>{} <small>@{}</small></figcaption>{}</figure>",
                       escape(where.first), escape(where.second), plot.str());
  }
  return out + "</div>";
}

std::string values_table(const std::vector<HistoryRun>& runs, const DrawnFigure& f) {
  std::set<std::string> keys;
  for (const HistoryRun& run : runs)
    for (const auto& [key, p] : run.keys)
      if (p.*f.value) keys.insert(key);
  std::string out = "<table><thead><tr><th>key</th>";
  for (std::size_t i = 0; i < runs.size(); ++i)
    out += "<th class=\"n\">" + escape(label_of(runs[i], i)) + "</th>";
  out += "</tr></thead><tbody>";
  for (const std::string& key : keys) {
    out += "<tr><th><code>" + escape(key) + "</code></th>";
    for (const HistoryRun& run : runs) {
      const auto at = run.keys.find(key);
      out += number_cell(at == run.keys.end() ? std::nullopt : at->second.*f.value);
    }
    out += "</tr>";
  }
  return "<details><summary>The numbers</summary>" + scroll(out + "</tbody></table>") + "</details>";
}

}  // namespace

std::string render_history_page(const std::vector<HistoryRun>& runs,
                                const std::vector<std::string>& left_out) {
  const auto [changes, compared] = last_changes(runs);
  const auto worse =
      std::count_if(changes.begin(), changes.end(), [](const HistoryChange& c) { return c.worse; });
  page::Frame f;
  f.passed = worse == 0 && compared > 0;
  f.verdict = compared == 0 ? "NOTHING COMPARED" : worse == 0 ? "NOTHING WORSE" : "WORSE";
  f.subject = "history";
  f.heading = "Accuracy and speed over commits";
  if (compared == 0)
    f.sentence = "The last report measured nothing that one before it measured.";
  else if (worse == 0)
    f.sentence = fmt::format("In the last of {} reports none of {} figures is worse than before.",
                             runs.size(), grouped(compared));
  else
    f.sentence = fmt::format("In the last of {} reports {} of {} figures are worse than before.", runs.size(),
                             worse, grouped(compared));
  if (!left_out.empty())
    f.sentence += fmt::format(" {} more could not be read: see The reports.", left_out.size());
  f.about =
      "Runs are numbered in the order of the command line. Only speeds of one machine are compared, "
      "and only errors of two quick runs or of two whole ones. An error has changed if it differs by more "
      "than 1 % "
      "(10 % where the two runs drew their inputs with different seeds) and by more than 0.01; a speed, by "
      "more "
      "than 5 %.";
  f.sections = {{"last", "What changed last", changes_table(changes)}};
  for (const DrawnFigure& figure : kDrawnFigures)
    if (std::string html = drawn(runs, figure); !html.empty())
      f.sections.push_back({figure.id, figure.title, html + values_table(runs, figure)});
  std::string reports = runs_table(runs);
  if (!left_out.empty()) reports += "<p>Left out, because they could not be read:</p><ul>";
  for (const std::string& why : left_out) reports += "<li>" + escape(why) + "</li>";
  if (!left_out.empty()) reports += "</ul>";
  f.sections.push_back({"runs", "The reports", std::move(reports)});
  return page::framed(f);
}

}  // namespace assay
