// SPDX-License-Identifier: Apache-2.0
// Builds the pages from their sections, and has the small pieces of HTML that the sections share.
#include "reports/page/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/parts.hpp"
#include "reports/page_texts.hpp"

namespace assay::page {

std::string framed(const Frame& f) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\">"
      "<link rel=\"icon\" href=\"data:,\">";  // empty; otherwise browsers ask for /favicon.ico
  out += fmt::format("<title>{}: {}</title><style>{}{}</style></head>\n<body><main>\n", f.verdict, f.subject,
                     page_css, f.css);
  out += fmt::format("{}{}<header><h1>{}</h1>", kPagesBegin, kPagesEnd, f.heading);
  out += fmt::format("<div class=\"verdict{}\"><b>{}</b><span>{}</span></div>{}",
                     f.passed   ? ""
                     : f.partly ? " partly"
                                : " fail",
                     f.verdict, f.sentence, f.facts);
  if (!f.about.empty()) out += "<p>" + f.about + "</p>";
  out += "</header>" + f.below;
  if (f.sections.size() > 3) {
    out += "<nav aria-label=\"Contents\"><ol>";
    for (const Section& s : f.sections) out += fmt::format("<li><a href=\"#{}\">{}</a></li>", s.id, s.title);
    out += "</ol></nav>";
  }
  out += "\n";
  for (const Section& s : f.sections)
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", s.id, s.title, s.html);
  return out + fmt::format("</main><script>{}{}</script></body></html>\n", page_js, f.js);
}

std::string count_list(const std::vector<Count>& counts) {
  std::string out = "<dl class=\"counts\">";
  for (const Count& c : counts) {
    const std::string css = c.value == "0" ? "zero" : c.css;
    out += fmt::format("<div><dt>{}</dt><dd{}>{}</dd></div>", c.label,
                       css.empty() ? "" : " class=\"" + css + "\"", c.value);
  }
  return out + "</dl>";
}

std::string where_made(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string table = "<table><tbody>";
  for (const auto& [label, value] : environment)
    table += fmt::format("<tr><th>{}</th><td>{}</td></tr>", escape(label), escape(value));
  return "<h3>Where this was made</h3>" + scroll(table + "</tbody></table>");
}

}  // namespace assay::page

namespace assay {

namespace page {

std::string open_table(const std::vector<const char*>& headings) {
  std::string out = "<table><thead><tr>";
  for (const char* h : headings)
    out += *h == '#' ? fmt::format("<th class=\"n\">{}</th>", h + 1) : fmt::format("<th>{}</th>", h);
  return out + "</tr></thead>";
}

std::string number_cell(std::optional<double> v, const std::string& note) {
  const std::string sort = v && !std::isnan(*v) ? fmt::format(" data-v=\"{}\"", *v) : "";
  return fmt::format("<td class=\"n\"{}>{}{}</td>", sort, number(v), note);
}

std::string count_cell(std::int64_t v) {
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", v, grouped(v));
}

static std::string place(const Extreme& e) {
  return fmt::format("<small>{}, V&nbsp;{}</small>", escape(e.family), grouped(e.V));
}

static std::string place_title(const Extreme& e) {
  return fmt::format(" title=\"{}, V = {}\"", escape(e.family), grouped(e.V));
}

std::string extreme_cell(const Extreme& e, bool where) {
  if (!e.any()) return number_cell(std::nullopt);
  return fmt::format("<td class=\"n\" data-v=\"{}\"{}>{}{}</td>", e.value, place_title(e), number(e.value),
                     where ? place(e) : "");
}

std::string ratio_cell(const Extreme& e, bool where) {
  if (!e.any()) return number_cell(std::nullopt);
  const bool over = !(e.value <= 1);
  return fmt::format("<td class=\"n ratio{}\" data-v=\"{}\"{}>{}<i style=\"width:{:.0f}%\"></i>{}</td>",
                     over ? " over" : "", e.value, place_title(e), number(e.value),
                     over ? 100.0 : 100 * e.value, where ? place(e) : "");
}

std::string command(std::string_view text) { return "<code class=\"cmd\">" + escape(text) + "</code>"; }

std::string status_word(Status s, const char* word) {
  const char* css = "bad";
  if (s == Status::pass) css = "good";
  if (s == Status::unsupported || s == Status::not_run) css = "mute";
  if (s == Status::inconclusive) css = "warn";
  return fmt::format("<span class=\"{}\">{}</span>", css, word ? word : name(s));
}

std::string status_word(Verdict v) {
  return status_word(v == Verdict::pass   ? Status::pass
                     : v == Verdict::fail ? Status::fail
                                          : Status::inconclusive,
                     name(v));
}

std::string scroll(const std::string& table) {
  return "<div class=\"scroll\" tabindex=\"0\">" + table + "</div>";
}

std::string per_backend(const Context& c,
                        std::string (*content)(const Context&, const std::string& backend)) {
  std::string out;
  const std::string first = content(c, c.main_backend);
  if (!first.empty()) out += fmt::format("<h3>On <code>@{}</code></h3>", escape(c.main_backend)) + first;
  for (const std::string& b : c.backends) {
    if (b == c.main_backend) continue;
    const std::string body = content(c, b);
    const bool ran = std::any_of(c.keys.begin(), c.keys.end(),
                                 [&](const KeyTally* k) { return k->info.backend == b && k->ran(); });
    if (!body.empty())
      out += fmt::format("<details><summary>The same on <code>@{}</code>{}</summary>{}</details>", escape(b),
                         ran ? "" : ", which did not run here", body);
  }
  return out.empty() ? "<p class=\"mute\">No record of this run has anything to show here.</p>" : out;
}

std::string dtype_class(std::string_view dtype) {
  for (const char* known : {"f16", "bf16", "f32", "f64"})
    if (dtype == known) return known;
  return "other";
}

Marker dtype_marker(std::string_view dtype) {
  if (dtype == "f16") return Marker::circle;
  if (dtype == "bf16") return Marker::square;
  return dtype == "f32" ? Marker::diamond : Marker::cross;
}

std::string dtype_legend(const Context& c, const std::string& extra) {
  std::string out = "<ul class=\"legend\">";
  for (const std::string& d : c.dtypes) {
    const std::string css = dtype_class(d);
    out += "<li>" + legend_sample(dtype_marker(d), css, "ln " + css) + escape(d) + "</li>";
  }
  return out + extra + "</ul>";
}

/// `facts`: of the whole run, or of one kernel.
static Context gather(RunSummary facts, const Timed& timed) {
  Context c{std::move(facts), timed};
  for (const std::string& b : c.backends)
    for (const KeyTally* k : c.keys)
      if (c.main_backend.empty() && k->info.backend == b && k->ran()) c.main_backend = b;
  if (c.main_backend.empty() && !c.backends.empty()) c.main_backend = c.backends.front();
  return c;
}

namespace {

/// The name of each variant's page: "kernels/online_block.html". A name from elsewhere may hold anything.
std::map<std::string, std::string> names_of_pages(const std::vector<std::string>& variants) {
  std::map<std::string, std::string> out;
  std::set<std::string> taken;
  for (const std::string& v : variants) {
    std::string plain;
    for (const char c : v)
      plain +=
          std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c == '-' && !plain.empty()) ? c : '_';
    plain = plain.substr(0, 80);
    std::string name = plain;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", plain, i);
    out[v] = "kernels/" + name + ".html";
  }
  return out;
}

std::string kernel_page(const Context& c) {
  Frame f = kernel_overview(c);
  f.sections = {{"accuracy", "Accuracy", accuracy(c)}};
  if (c.check) f.sections.push_back({"conformance", "Contract and conformance", conformance(c)});
  const bool profiled = std::any_of(c.data.profiles.begin(), c.data.profiles.end(),
                                    [&](const Profile& p) { return p.variant == c.variants.front(); });
  if (profiled) {
    f.sections.push_back(
        {"distance", "ULP error against the distance from the maximum", error_by_distance(c)});
    f.sections.push_back({"signed", "Signed errors on real logits", signed_errors(c)});
  }
  for (Section& s :
       std::vector<Section>{{"size", "Error against V", error_by_size(c)},
                            {"resolution", "How small an error would have been refused", resolution(c)},
                            {"behaviour", "What it claims, and what it behaves like", behaviour(c)},
                            {"special", "Special values", special_values(c)},
                            {"domain", "Rows that were not judged", domain(c)},
                            {"families", "Input families", families(c)},
                            {"accesses", "Accesses to memory", accesses(c)},
                            {"speed", "Speed", speed(c)},
                            {"worst", "Worst cases", worst_cases(c)}})
    if (!s.html.empty()) f.sections.push_back(std::move(s));
  return framed(f);
}

std::string compare_page(const Context& c) {
  Frame f;
  f.verdict = name(c.verdict);
  f.passed = c.verdict == Verdict::pass;
  f.subject = "all kernels side by side";
  f.heading = "All kernels side by side";
  f.sentence = fmt::format("{} kernels in {} keys.", c.variants.size(), c.keys.size());
  if (!c.data.part.empty()) f.sentence += " This is " + escape(c.data.part) + " of a run.";
  f.sections = {{"variants", "Variants and dtypes", variants_by_dtype(c)},
                {"utilisation", "How sharp the bounds are", utilisation(c)},
                {"resolution", "How small an error would have been refused", resolution(c)},
                {"special", "Special values", special_values(c)},
                {"domain", "Rows that were not judged", domain(c)},
                {"families", "Input families", families(c)},
                {"worst", "Worst cases", worst_cases(c)},
                {"oracle", "The oracle's speed", oracle_speed(c)}};
  std::erase_if(f.sections, [](const Section& one) { return one.html.empty(); });
  if (c.data.functions)
    f.sections.push_back({"functions", "Functions that kernels build on", functions(*c.data.functions)});
  return framed(f);
}

/// The environment of the report. The speeds beside it may come from other commits.
std::vector<std::pair<std::string, std::string>> made(const Context& c, const InFolder& in_folder) {
  auto out = c.data.environment;
  std::set<std::string> commits;
  for (const SweepRecord& r : in_folder.sweep)
    if (!r.commit.empty()) commits.insert(r.commit);
  if (!commits.empty())
    out.emplace_back("speeds",
                     fmt::format("commit{} {}", commits.size() == 1 ? "" : "s", fmt::join(commits, ", ")));
  return out;
}

}  // namespace
}  // namespace page

std::vector<std::pair<std::string, std::string>> render_pages(const Digest& digest,
                                                              const InFolder& in_folder) {
  using namespace page;
  std::vector<std::pair<std::string, std::string>> out;
  const Timed timed(in_folder);
  Context whole = gather(summary_of(digest), timed);
  whole.page_of = names_of_pages(whole.variants);
  const auto environment = made(whole, in_folder);
  Frame index = overview(whole);
  index.sections = {{"kernels", "Kernels", kernel_table(whole)},
                    {"ran", "What ran, and where", what_ran(whole) + where_made(environment)},
                    {"reading", "How to read these pages", how_to_read()}};
  out.emplace_back("index.html", framed(index));
  out.emplace_back("compare.html", compare_page(whole));
  std::map<std::string, std::vector<const KeyTally*>> kernels;
  for (const KeyTally* k : whole.keys) kernels[k->info.variant].push_back(k);
  for (const std::string& v : whole.variants)
    out.emplace_back(whole.page_of.at(v), kernel_page(gather(summary_of(digest, kernels.at(v)), timed)));
  return out;
}

std::vector<std::pair<std::string, std::string>> render_pages(const ReportData& data,
                                                              const InFolder& in_folder) {
  return render_pages(Digest(data, Digest::Depth::all), in_folder);
}

}  // namespace assay
