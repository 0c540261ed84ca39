// SPDX-License-Identifier: Apache-2.0
#include "reports/page/frame.hpp"

#include <fmt/format.h>

#include "reports/data/html.hpp"
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
