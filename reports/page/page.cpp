// Builds the page from its sections, and has the small pieces of HTML that the sections share.
#include "reports/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/parts.hpp"

namespace assay {
namespace page {

std::string open_table(const std::vector<const char*>& headings, bool sortable) {
  std::string out = sortable ? "<table class=\"sortable\"><thead><tr>" : "<table><thead><tr>";
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
  return fmt::format("<small>{}, V&nbsp;{}</small>", escape(e.record->family), grouped(e.record->V));
}

static std::string place_title(const Extreme& e) {
  return fmt::format(" title=\"{}, V = {}\"", escape(e.record->family), grouped(e.record->V));
}

std::string extreme_cell(const Extreme& e, bool where) {
  if (!e.record) return number_cell(std::nullopt);
  return fmt::format("<td class=\"n\" data-v=\"{}\"{}>{}{}</td>", e.value, place_title(e), number(e.value),
                     where ? place(e) : "");
}

std::string ratio_cell(const Extreme& e, bool where) {
  if (!e.record) return number_cell(std::nullopt);
  const bool over = !(e.value <= 1);
  return fmt::format("<td class=\"n ratio{}\" data-v=\"{}\"{}>{}<i style=\"width:{:.0f}%\"></i>{}</td>",
                     over ? " over" : "", e.value, place_title(e), number(e.value),
                     over ? 100.0 : 100 * e.value, where ? place(e) : "");
}

std::string command(std::string_view text) { return "<code class=\"cmd\">" + escape(text) + "</code>"; }

std::string status_word(Status s) {
  const char* css = "bad";
  if (s == Status::pass) css = "good";
  if (s == Status::unsupported || s == Status::not_run) css = "mute";
  if (s == Status::inconclusive) css = "warn";
  return fmt::format("<span class=\"{}\">{}</span>", css, name(s));
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
    const bool ran = std::any_of(c.keys.begin(), c.keys.end(), [&](const KeyTally& k) {
      return k.info.backend == b && k.records > k.not_run;
    });
    if (!body.empty())
      out += fmt::format("<details><summary>The same on <code>@{}</code>{}</summary>{}</details>", escape(b),
                         ran ? "" : ", which did not run here", body);
  }
  return out.empty() ? "<p class=\"mute\">No record of this run has anything to show here.</p>" : out;
}

const KeyTally* find_key(const Context& c, const std::string& variant, const std::string& dtype,
                         const std::string& backend) {
  for (const KeyTally& k : c.keys)
    if (k.info.variant == variant && k.info.dtype == dtype && k.info.backend == backend) return &k;
  return nullptr;
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

static Context gather(const ReportData& data) {
  Context c{data, tally_keys(data), backends(data), dtypes(data), variants(data), ""};
  for (const std::string& b : c.backends)
    for (const KeyTally& k : c.keys)
      if (c.main_backend.empty() && k.info.backend == b && k.records > k.not_run) c.main_backend = b;
  if (c.main_backend.empty() && !c.backends.empty()) c.main_backend = c.backends.front();
  return c;
}

}  // namespace page

std::string render_page(const ReportData& data) {
  const page::Context whole = page::gather(data);
  // Thousands of a check's cases only ask whether a shape works. The sections on accuracy use the group
  // `families` alone.
  const bool grouped_cases = is_check(data);
  ReportData families_only = data;
  if (grouped_cases)
    std::erase_if(families_only.records,
                  [](const Record& r) { return !r.group.empty() && r.group != "families"; });
  const page::Context c = page::gather(families_only);
  std::vector<page::Section> sections = {
      {"variants", "Variants and dtypes", page::variants_by_dtype(c)},
      {"distance", "ULP error against the distance from the maximum", page::error_by_distance(c)},
      {"size", "Error against V", page::error_by_size(c)},
      {"signed", "Signed errors on real logits", page::signed_errors(c)},
      {"utilisation", "How sharp the bounds are", page::utilisation(c)},
      {"resolution", "How small an error would have been refused", page::resolution(c)},
      {"behaviour", "What every key claims, and what it behaves like", page::behaviour(c)},
      {"special", "Special values", page::special_values(c)},
      {"domain", "Outside the declared domain", page::domain(c)},
      {"worst", "Worst cases", page::worst_cases(c)},
      {"oracle", "The oracle's speed", page::oracle_speed(c)},
      {"families", "Input families", page::families(c)},
      {"reading", "How to read this page", page::how_to_read()},
  };
  if (grouped_cases)
    sections.insert(sections.begin(), {"conformance", "Conformance", page::conformance(whole)});
  if (data.functions)
    sections.insert(sections.end() - 1,
                    {"functions", "Functions that kernels build on", page::functions(*data.functions)});
  page::Frame frame = page::overview(whole);
  frame.sections = std::move(sections);
  return page::framed(frame);
}

}  // namespace assay
