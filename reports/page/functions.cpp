// SPDX-License-Identifier: Apache-2.0
// The table of building blocks. It is a section of the report's page, and also a separate page.
#include <fmt/format.h>

#include <cmath>

#include "reports/data/functions_report.hpp"
#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay {

namespace page {
namespace {

std::string largest_cell(const FunctionResult::Largest& w) {
  if (!w.measured()) return number_cell(std::nullopt);
  return fmt::format("<td class=\"n\" data-v=\"{}\" title=\"gives {}\">{}<small>{}</small></td>", w.value,
                     escape(w.got), w.value < 100 ? fmt::format("{:.6f}", w.value) : number(w.value),
                     escape(w.argument));
}

std::string order_cell(const FunctionResult& f) {
  if (f.descent.count == 0) return "<td>yes</td>";
  return fmt::format("<td>{} descents<small>first at {}</small></td>", grouped(f.descent.count),
                     escape(f.descent.argument));
}

std::string premises_cell(const FunctionResult& f) {
  std::string bad;
  const auto add = [&bad](const char* what, const FunctionResult::Violation& v) {
    if (v.count) bad += fmt::format("{} {} times, first at {}; ", what, grouped(v.count), escape(v.argument));
  };
  add("exp(0) is not 1", f.not_one);
  add("outside [0, 1]", f.not_in_unit);
  add("special values", f.special_wrong);
  add("NaN", f.nan);
  return bad.empty() ? "<td class=\"good\">hold</td>" : "<td class=\"bad\">" + bad + "</td>";
}

std::string rows(const FunctionsReport& r, const std::string& backend) {
  std::string out = open_table({"function", "#max ULP, at", "documented", "#declared ULP",
                                "#correctly rounded", "#subnormal results", "#relative, u",
                                "#mean signed ULP", "monotone", "premises", "#inputs", "#by MPFR", "#s"}) +
                    "<tbody>";
  bool any = false;
  for (const FunctionResult& f : r.functions) {
    if (f.backend != backend) continue;
    any = true;
    out += fmt::format("<tr><th><code>{}</code><small>{}</small>", escape(f.name), escape(f.dtype));
    if (f.status == Status::not_run) {
      out +=
          fmt::format("</th><td class=\"mute wide\" colspan=\"12\">not run: {}</td></tr>", escape(f.reason));
      continue;
    }
    if (f.status != Status::pass)
      out += "<small class=\"bad\">" + escape(shorten(f.reason, 200)) + "</small>";
    out += "</th>" + largest_cell(f.ulp);
    const DeclaredError* d = find_declared(f);
    out += fmt::format("<td>{}<small>{}</small></td>", d ? escape(d->documented) : kDash,
                       d ? escape(d->source) : "");
    std::string declared = kDash;
    if (d) declared = number(d->limit());
    if (d && d->slope > 0)
      declared += fmt::format(" + {} |x|<small>needed: {}</small>", number(d->slope),
                              f.slope.measured() ? number(f.slope.value) : "0");
    if (d && d->absolute > 0)
      declared += fmt::format("<small>[1/2, 2]: {} of {} absolute</small>", number(f.absolute.value),
                              number(d->absolute));
    out += "<td class=\"n\">" + declared + "</td>";
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}<small>{} not</small></td>", f.correct_share(),
                       escape(plain_percent(f.correct_share())), grouped(f.judged - f.correct));
    out += largest_cell(f.tiny) + largest_cell(f.relative);
    out += f.mean_count > 0
               ? fmt::format("<td class=\"n\" data-v=\"{}\">{:+.4f}</td>", f.mean_signed, f.mean_signed)
               : number_cell(std::nullopt);
    out += order_cell(f) + premises_cell(f);
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}{}</td>", f.inputs, grouped(f.inputs),
                       on_every_argument(f) ? ""
                       : f.stride > 1       ? "<small>a sample</small>"
                                            : "<small>drawn pairs</small>");
    out += count_cell(f.decided_by_mpfr) + number_cell(f.seconds) + "</tr>";
  }
  return any ? scroll(out + "</tbody></table>") : "";
}

}  // namespace

static std::string pair_rows(const FunctionsReport& r) {
  std::string out = open_table({"key", "status", "#max ULP, at", "#correctly rounded", "#rows", "#full check",
                                "#by MPFR", "#outside the domain", "#s"}) +
                    "<tbody>";
  for (const PairResult& p : r.pairs) {
    out += fmt::format("<tr><th><code>{}</code></th>", escape(p.key));
    if (p.status == Status::not_run) {
      out += fmt::format("<td class=\"mute wide\" colspan=\"8\">not run: {}</td></tr>", escape(p.reason));
      continue;
    }
    const bool good = p.status == Status::pass;
    const double share =
        p.elements > 0 ? static_cast<double>(p.correct) / static_cast<double>(p.elements) : 0;
    out += fmt::format("<td class=\"{}\">{}<small>{}</small></td>", good ? "good" : "bad", name(p.status),
                       escape(shorten(p.reason, 200)));
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{:.6f}<small>{}</small></td>", p.ulp, p.ulp,
                       escape(p.worst));
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", share, escape(plain_percent(share)));
    out += fmt::format("<td class=\"n\" data-v=\"{}\">{}{}</td>", p.rows, grouped(p.rows),
                       p.stride > 1 ? "<small>a sample</small>" : "");
    out += count_cell(p.full_check) + count_cell(p.by_mpfr) + count_cell(p.outside) + number_cell(p.seconds) +
           "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

std::string functions(const FunctionsReport& r) {
  std::string out =
      "<p>The functions that kernels build on, compared with the exact value: at every argument, or at "
      "those of a sample where the column <em>inputs</em> says so. <em>max "
      "ULP</em> is the distance from the exact value, if that is normal (a correctly rounded result has at "
      "most 0.5). <em>subnormal results</em> is the distance if it is not, in units of the smallest "
      "subnormal. <em>declared</em> is the error that the bounds use: k + &frac12; for a documented k, "
      "because k counts from the correctly rounded result. The mean signed error of an exponential is taken "
      "over arguments in [-104, -&frac12;]. Premises: exp(0) = 1, 0 &le; exp(t) &le; 1 for t &le; 0, and the "
      "right results for infinities, zeros and NaN.</p>";
  for (const char* backend : {"cuda", "host"})
    if (const std::string table = rows(r, backend); !table.empty())
      out += fmt::format("<h3>On <code>@{}</code></h3>", backend) + table;
  if (!r.pairs.empty())
    out +=
        "<h3>Every pair of f16 logits as a two-element softmax</h3><p>All 2<sup>32</sup> rows of two, "
        "special values included, judged by the bound of the variant's class. A cheap judge looks at every "
        "row. A row that it does not pass gets the full check, up to MPFR.</p>" +
        pair_rows(r);
  if (r.quotients)
    out +=
        "<h3>Division of a row by one divisor</h3><p>Instead of one division per element, a kernel may use "
        "three operations with a shared reciprocal (<code>kernels/building_blocks/row_divisor.cuh</code>). "
        "For every pair of mantissas, the result is compared with the correctly rounded quotient. " +
        escape(quotients_sentence(*r.quotients)) + ".</p>";
  return out;
}

}  // namespace page

std::string render_functions_page(const FunctionsReport& r) {
  page::Frame f;
  f.passed = functions_passed(r);
  f.verdict = functions_word(r);
  f.subject = "building blocks";
  f.heading = "Building blocks";
  f.sentence = fmt::format("{}. Took {} s.", escape(functions_verdict(r)), number(r.seconds));
  f.below = page::where_made(r.environment);
  f.sections = {{"functions", "Functions", page::functions(r)}};
  return page::framed(f);
}

}  // namespace assay

namespace assay::page {

/// How fast each tier of the oracle judged the outputs, and how much the fast tier left to MPFR.
std::string oracle_speed(const Context& c) {
  std::int64_t escalated = 0, judged = 0;
  for (const KeyTally* k : c.keys) {
    escalated += k->escalated;
    judged += k->status[Status::pass] + k->status[Status::fail] + k->status[Status::inconclusive];
  }
  std::string out = fmt::format(
      "<p>Every verdict is the one that MPFR would give. The fast tier encloses each exact value in fp64, "
      "within 2<sup>-50</sup> of it. If that leaves a verdict undecided, MPFR judges again. Here this "
      "happened in {} of {} judged records.</p>",
      grouped(escalated), grouped(judged));
  const OracleSpeedData& o = c.data.oracle;
  if (o.rows.empty())
    return out +
           "<p class=\"mute\">The oracle's speed was not measured in this run "
           "(<code>assay sweep oracle</code> does).</p>";
  out += fmt::format(
      "<p>Elements judged per second. The time runs from outputs in memory to the last verdict, and includes "
      "what MPFR judged again. Rows of family <code>{}</code>; {}.</p>",
      escape(o.family), escape(o.machine));
  std::string table = open_table({"outputs of", "tier", "on", "#rows", "#V", "#elements/s", "#times MPFR",
                                  "#escalated share", "#failed"}) +
                      "<tbody>";
  double mpfr = 0;
  for (const OracleSpeedRow& r : o.rows) {
    if (r.tier == "mpfr") mpfr = r.elements_per_second;
    table += fmt::format("<tr><td><code>{}</code></td><td>{}</td><td>{}</td>", escape(r.key), escape(r.tier),
                         escape(r.where)) +
             count_cell(r.rows) + count_cell(r.V) +
             fmt::format("<td class=\"n\" data-v=\"{0}\">{0:.3g}</td>", r.elements_per_second) +
             number_cell(mpfr > 0 ? std::optional(r.elements_per_second / mpfr) : std::nullopt) +
             number_cell(r.escalated) + count_cell(r.failed) + "</tr>";
  }
  return out + scroll(table + "</tbody></table>");
}

}  // namespace assay::page
