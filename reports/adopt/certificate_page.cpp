// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/certificate_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/problem.hpp"
#include "reports/adopt/certificate_fields.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"
#include "reports/page/page.hpp"
#include "reports/page/parts.hpp"

namespace assay {
namespace {

struct Column {
  const char* head;  // a soft hyphen says where it may break
  const char* css = "";
};
constexpr const char* kNumber = "n";
constexpr const char* kText = "text";  // it is the widest, and its lines break
constexpr const char* kKey = "key";    // a kernel's key

/// What this page adds to page.css: hashes, commands and long names break anywhere.
constexpr const char* kStyle =
    "table.fits :is(th,td){padding:5px 7px}table.fits code{overflow-wrap:anywhere}"
    "table.fits td.text{min-width:11em;overflow-wrap:anywhere}table.fits td.key code{overflow-wrap:normal}"
    "@media(max-width:900px){table.fits{font-size:12.5px}table.fits :is(th,td){padding:5px}}";

/// A table that fits into a narrow window: nothing of it has to be scrolled sideways.
std::string html_table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "<p class=\"mute\">None.</p>";
  std::string out = "<div class=\"scroll\" tabindex=\"0\"><table class=\"fits\"><thead><tr>";
  for (const Column& c : columns)
    out += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", c.css, escape(c.head));
  out += "</tr></thead><tbody>";
  for (const std::vector<std::string>& row : rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td class=\"{}\">{}</td>", columns[i].css, row[i]);
    out += "</tr>";
  }
  return out + "</tbody></table></div>\n";
}

/// Columns and cells of the numbers of a case, to be joined with others.
std::vector<Column> columns_of(const std::vector<SizeInfo>& sizes) {
  std::vector<Column> all;
  for (const SizeInfo& s : sizes) all.push_back({s.name, kNumber});
  return all;
}
template <class T>
std::vector<T> joined(std::vector<T> all, const std::vector<T>& middle, const std::vector<T>& last) {
  all.insert(all.end(), middle.begin(), middle.end());
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

std::string coded(const std::string& text) {
  return text.empty() ? kDash : "<code>" + escape(text) + "</code>";
}

/// A name that may break behind "/" and "_".
std::string name_html(const std::string& name) {
  std::string out;
  for (const char c : name) out += escape(std::string(1, c)) + (c == '/' || c == '_' ? "<wbr>" : "");
  return out;
}
std::string key_html(const std::string& key) { return "<code>" + name_html(key) + "</code>"; }

const char* step_word(const CertifiedStep& s) { return kStepWords[static_cast<std::size_t>(s.state)]; }

std::string list_html(const std::vector<std::string>& all) {
  std::string out = "<ul>";
  for (const std::string& one : all) out += "<li>" + escape(one) + "</li>";
  return out + "</ul>\n";
}

std::string judged_html(const Certificate& c) {
  std::vector<std::vector<std::string>> rows;
  for (const CertifiedFile& f : c.files)
    rows.push_back({escape(f.role), coded(f.path), f.sha256.empty() ? "in the binary" : coded(f.sha256)});
  std::string out = html_table({{"file"}, {"path", kText}, {"SHA-256", kText}}, rows);
  for (const CertifiedKernel& k : c.kernels)
    out += fmt::format("<p>{}: op {}, judged as: {}. {}</p>\n", coded(k.key), escape(k.op), escape(k.claim),
                       escape(k.made_by));
  std::vector<std::pair<std::string, std::string>> facts;
  for (const CertifiedFact& f : c.environment) facts.emplace_back(f.label, f.value);
  return out + page::where_made(facts);
}

/// What belongs to a step and is rarely read, below what came out.
std::string details_html(const Certificate& c, const CertifiedStep& s) {
  std::string out;
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty()) out += fmt::format("<small class=\"wrap\">{}: {}</small>", what, coded(value));
  };
  line("repeat the first failure", s.command);
  for (const CertifiedData& d : c.data)
    if (d.path.starts_with(s.name + "/") && !d.path.ends_with(".html")) line(d.path.c_str(), d.sha256);
  return out;
}

std::string steps_html(const Certificate& c) {
  std::vector<std::vector<std::string>> rows;
  for (const CertifiedStep& s : c.steps)
    rows.push_back({escape(s.name), page::status_word(s.state, step_word(s)),
                    escape(s.words) + details_html(c, s), grouped(s.planned), grouped(s.executed),
                    std::to_string(s.seed), number(s.seconds)});
  return html_table({{"step"},
                     {"state"},
                     {"what came out", kText},
                     {"planned", kNumber},
                     {"executed", kNumber},
                     {"seed", kNumber},
                     {"seconds", kNumber}},
                    rows);
}

std::string contract_html(const Certificate& c) {
  std::string out;
  for (const CertifiedKernel& k : c.kernels) {
    out += fmt::format(
        "<h3><code>{}</code></h3><p>{}</p>\n", escape(k.key),
        k.within.empty()
            ? "No limits were searched: it has declared its own, or only a part of the check ran."
        : k.verdict == Verdict::pass || k.verdict == Verdict::judged_in_part
            ? "Right within: " + escape(k.within)
        : k.verdict == Verdict::not_run ? "None: nothing was judged."
                                        : "None: it is not right. Tried within: " + escape(k.within));
    if (!k.required.empty()) out += "<p>Required: " + escape(k.required) + "</p>\n";
    for (const std::string& why : k.uncovered)
      out += "<p>Of this it does not take: " + escape(why) + "</p>\n";
    if (!k.own_limits.empty())
      out += "<p>Limits that only its own file declares: " + coded(k.own_limits) + "</p>\n";
    if (!k.undeclared.empty())
      out += "<p>Limits that nobody declared: " + coded("--declare '" + k.undeclared + "'") + "</p>\n";
    if (k.lengths > 0)
      out += fmt::format("<p>Judged: {} row lengths from {} to {}, up to {} rows in a launch; {}.</p>\n",
                         grouped(k.lengths), grouped(k.least_V), grouped(k.most_V), grouped(k.most_rows),
                         escape(rows_line(k.rows_judged)));
    std::vector<std::vector<std::string>> rows;
    for (const CertifiedAxis& a : k.axes)
      rows.push_back({escape(a.axis), escape(a.state), escape(a.within), escape(a.outside)});
    if (!rows.empty()) out += html_table({{"axis"}, {"state"}, {"within", kText}, {"outside", kText}}, rows);
  }
  return out;
}

std::string checks_html(const Certificate& c) {
  std::vector<std::vector<std::string>> rows;
  for (const CertifiedKernel& k : c.kernels)
    for (const CertifiedCheck& one : k.checks)
      rows.push_back({key_html(k.key), escape(one.name),
                      page::status_word(one.verdict, kCheckWords[static_cast<std::size_t>(one.verdict)]),
                      grouped(one.judged), grouped(one.failed), grouped(one.undecided),
                      one.utilisation > 0 ? number(one.utilisation) : "exact", number(one.resolution)});
  return html_table({{"kernel", kKey},
                     {"check"},
                     {"verdict"},
                     {"comparisons", kNumber},
                     {"failed", kNumber},
                     {"undecided", kNumber},
                     {"largest error / bound", kNumber},
                     {"resolution", kNumber}},
                    rows);
}

std::string accuracy_html(const Certificate& c) {
  std::vector<std::vector<std::string>> rows;
  for (const CertifiedKernel& k : c.kernels)
    rows.push_back({key_html(k.key), page::status_word(k.verdict), grouped(k.passed), grouped(k.failed),
                    grouped(k.inconclusive), grouped(k.unsupported), number(k.max_ulp_ordinary),
                    number(k.max_ulp), number(k.max_bound_ratio), number(k.resolution),
                    number(k.resolution_sum)});
  return html_table({{"kernel", kKey},
                     {"verdict"},
                     {"passed", kNumber},
                     {"failed", kNumber},
                     {"incon\u00adclusive", kNumber},
                     {"unsup\u00adported", kNumber},
                     {"max ULP, ordinary rows", kNumber},
                     {"max ULP, all rows", kNumber},
                     {"largest error / bound", kNumber},
                     {"resolution", kNumber},
                     {"resolu\u00adtion of a whole row", kNumber}},
                    rows);
}

std::string speed_html(const Certificate& c) {
  if (c.speed.empty()) {
    const auto sweep = std::find_if(c.steps.begin(), c.steps.end(),
                                    [](const CertifiedStep& s) { return s.name == "sweep"; });
    return fmt::format("<p>No speed was measured{}.</p>\n",
                       sweep == c.steps.end() ? "" : ": " + escape(sweep->words));
  }
  std::vector<std::vector<std::string>> rows;
  const std::vector<SizeInfo> sizes =
      sizes_of_all(c.speed, [&](const CertifiedSpeed& s) { return op_of(c, s); });
  const std::string impossible = impossible_figure(c);
  for (const CertifiedSpeed& s : c.speed)
    rows.push_back(joined<std::string>({key_html(s.key)}, texts_of(sizes, op_of(c, s), s),
                                       {judged_word(s.verified), number(s.median_us), number(s.gb_per_s),
                                        number(s.share_of_copy), number(s.share_of_fastest)}));
  return html_table(joined<Column>({{"kernel", kKey}}, columns_of(sizes),
                                   {{"outputs"},
                                    {"median, us", kNumber},
                                    {"GB/s", kNumber},
                                    {"share of a copy's speed", kNumber},
                                    {"share of the fastest way to move as many bytes", kNumber}}),
                    rows) +
         (impossible.empty() ? "" : "<p class=\"bad\">" + escape(impossible) + "</p>\n");
}

std::string cases_html(const Certificate& c) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<SizeInfo> sizes = sizes_of_all(c.cases, [](const CertifiedCase& k) { return k.op; });
  for (const CertifiedCase& k : c.cases)
    rows.push_back(joined<std::string>(
        {k.worst ? "yes" : "", escape(k.group), name_html(k.family)}, texts_of(sizes, k.op, k),
        {page::status_word(k.status), number(k.max_ulp), number(k.max_bound_ratio), coded(k.reproduce)}));
  return html_table(joined<Column>({{"worst"}, {"group"}, {"family"}}, columns_of(sizes),
                                   {{"status"},
                                    {"max ULP", kNumber},
                                    {"error / bound", kNumber},
                                    {"the command that repeats it", kText}}),
                    rows);
}

const char* colour_of(const Certificate& c) {
  if (c.verdict == Verdict::pass) return "#12703f";
  return c.verdict == Verdict::fail ? "#b4211b" : "#8a5a00";
}

/// No kernel ran on a GPU, and one ran on the CPU.
bool only_on_the_cpu(const Certificate& c) {
  const auto ran = [](const CertifiedKernel& k) { return k.passed + k.failed + k.inconclusive > 0; };
  bool on_host = false;
  for (const CertifiedKernel& k : c.kernels) {
    if (ran(k) && !k.on_host) return false;
    on_host = on_host || ran(k);
  }
  return on_host;
}

bool in_part(const Certificate& c) { return c.verdict == Verdict::judged_in_part; }
bool right(const Certificate& c) { return c.verdict == Verdict::pass || in_part(c); }

/// The contract, where there is one to speak of.
std::string contract_words(const Certificate& c) {
  std::string words;
  std::int64_t rows = 0;
  for (const CertifiedKernel& k : c.kernels) rows += k.rows_judged;
  if (right(c) && rows > 0) words = "R" + rows_line(rows).substr(1) + ". ";
  if (right(c) && c.kernels.size() == 1 && !c.kernels[0].within.empty())
    words += "Right within: " + c.kernels[0].within + ". ";
  return words;
}

/// "; sandbox: Landlock" of what held the kernels, by the one that was held least.
std::string guard_of_badge(const Certificate& c) {
  std::string words;
  for (const char* const where : {"sandbox", "landlock", "not_sandboxed"})
    if (std::ranges::any_of(c.kernels, [&](const CertifiedKernel& k) { return k.where == where; }))
      words = guard_words(where);
  return words.empty() ? "" : words == "not sandboxed" ? "; " + words : "; sandbox: " + words;
}

/// " for V=1..4096" of what was required, or " within V one of 2" of a kernel that has limits: whoever sees
/// the badge must see for what it is.
std::string contract_of_badge(const Certificate& c) {
  std::vector<std::string> all;
  for (const CertifiedKernel& k : c.kernels) {
    const bool limited = !k.within.empty() && k.within != kWithoutLimits;
    const std::string words = !k.required.empty() ? " for " + k.required
                              : limited           ? " within " + k.within
                                                  : "";
    if (!words.empty() && std::ranges::find(all, words) == all.end()) all.push_back(words);
  }
  return all.empty() ? "" : all.front() + (all.size() > 1 ? ", and others" : "");
}

/// What a reader must know before the verdict is used.
std::string limits_of_the_verdict(const Certificate& c) {
  std::string words;
  if (!right(c)) return words;
  for (const CertifiedKernel& k : c.kernels)
    if (little_of_core(k))
      words += fmt::format("{}: {} of {} cases that every caller relies on are beyond its limits. ", k.key,
                           grouped(k.core_beyond), grouped(k.core));
  for (const CertifiedKernel& k : c.kernels)
    if (k.too_coarse > k.passed)
      words += fmt::format(
          "{}: {} of {} cases could not be judged, because the arithmetic that it claims lets "
          "nearly any output pass. ",
          k.key, grouped(k.too_coarse), grouped(k.planned));
  if (only_on_the_cpu(c)) words += "It ran on the CPU: this is no adoption for a GPU. ";
  if (c.extent == "quick") words += "The check was quick. ";
  return words;
}

std::string kernel_names(const Certificate& c) {
  std::string out;
  for (const CertifiedKernel& k : c.kernels) out += (out.empty() ? "" : ", ") + k.key;
  return out.empty() ? c.target.word : out;
}

}  // namespace

std::string render_certificate_page(const Certificate& c) {
  page::Frame f;
  f.verdict = escape(badge_words(c));
  f.passed = c.verdict == Verdict::pass;
  f.partly = in_part(c);
  f.css = kStyle;
  f.subject = "certificate of " + escape(kernel_names(c));
  f.heading = "Certificate of " + escape(kernel_names(c));
  f.about = fmt::format(
      "Made {} by <code>{}</code>. <code>certificate.json</code> beside this page holds the same for "
      "programs; <code>assay verify certificate.json</code> replays a part of it.",
      escape(c.made), escape(c.command));
  f.sentence = escape(limits_of_the_verdict(c) + contract_words(c) + c.reason);
  f.sections = {{"contract", "Contract", contract_html(c)},
                {"not-proved", "What was not proved", list_html(c.not_proved)},
                {"accuracy", "Accuracy", accuracy_html(c)},
                {"speed", "Speed", speed_html(c)},
                {"ran", "What ran", steps_html(c)},
                {"checks", "Checks", checks_html(c)},
                {"judged", "What was judged", judged_html(c)},
                {"cases", "Cases that can be replayed", cases_html(c)}};
  return page::framed(f);
}

std::string badge_words(const Certificate& c) {
  if (!right(c)) return name(c.verdict);
  const char* const part = !c.only.empty()       ? ", a part of the check"
                           : c.extent == "quick" ? ", quick check"
                                                 : "";
  return name(c.verdict) + std::string(only_on_the_cpu(c) ? " on the CPU" : "") + part +
         contract_of_badge(c) + guard_of_badge(c);
}

std::string render_badge(const Certificate& c) {
  const std::string words = badge_words(c);
  // Verdana's letters of 11 pixels are some 7 wide.
  const std::size_t left = 46, right = 12 + 7 * words.size();
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" role=\"img\" "
      "aria-label=\"assay: {1}\">"
      "<title>assay: {1}</title><rect width=\"{2}\" height=\"20\" fill=\"#444\"/>"
      "<rect x=\"{2}\" width=\"{3}\" height=\"20\" fill=\"{4}\"/>"
      "<g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" "
      "font-size=\"11\">"
      "<text x=\"{5}\" y=\"14\">assay</text><text x=\"{6}\" y=\"14\">{1}</text></g></svg>\n",
      left + right, escape(words), left, right, colour_of(c), left / 2, left + right / 2);
}

std::string badge_line(const Certificate& c, const std::string& folder) {
  const std::string at = folder.empty() ? "" : folder + "/";
  return fmt::format("[![assay: {}]({}badge.svg)]({}certificate.html)", badge_words(c), at, at);
}

std::string render_certificate_terminal(const Certificate& c) {
  const std::string words = badge_words(c);
  std::string out = fmt::format("{}{} {}\n", words, words == name(c.verdict) ? "" : ":", kernel_names(c));
  if (right(c))
    for (const CertifiedKernel& k : c.kernels) {
      if (!k.within.empty()) out += fmt::format("  {} within: {}\n", k.key, k.within);
      if (!k.required.empty()) out += fmt::format("  {} required: {}\n", k.key, k.required);
      if (!k.own_limits.empty())
        out += fmt::format("  {} declared by its own file alone: {}\n", k.key, k.own_limits);
      const std::string more = k.own_limits.empty() || k.undeclared.empty()
                                   ? k.own_limits + k.undeclared
                                   : k.own_limits + "; " + k.undeclared;
      if (!more.empty()) out += fmt::format("  adopt with: --declare '{}'\n", more);
      if (k.rows_judged > 0) out += fmt::format("  {} {}\n", k.key, rows_line(k.rows_judged));
    }
  if (std::string limits = limits_of_the_verdict(c); !limits.empty()) {
    limits.pop_back();
    out += "  " + limits + "\n";
  }
  out += "  " + c.reason + "\n";
  for (const CertifiedStep& s : c.steps) {
    out += fmt::format("  {:<10} {:<10} {}\n", s.name, step_word(s), s.words);
    if (!s.command.empty()) out += fmt::format("  {:<21} {}\n", "", s.command);
  }
  out += "  not proved:\n";
  for (const std::string& open : c.not_proved) out += "    " + open + "\n";
  return out;
}

}  // namespace assay
