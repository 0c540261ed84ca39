// SPDX-License-Identifier: Apache-2.0
// summary.md and the last lines on the terminal. Both are a shorter form of the page.
#include "reports/data/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/data/digest.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"

namespace assay {
namespace {

std::string plain(const Extreme& e) { return e.any() ? plain_number(e.value) : "-"; }
std::string real_ulp(const KeyTally& k) { return plain(k.real(&Record::max_ulp)); }
std::string any_ulp(const KeyTally& k) { return plain(k.all(&Record::max_ulp)); }

// For table cells and list items: no character may end the cell, start markup, or break the line.
std::string md(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n' || c == '\r')
      out += ' ';
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '|' || c == '`' || c == '*' || c == '\\' || c == '[')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

// Between back quotes only three things are special: the quote itself, the bar of a table, and line breaks.
std::string code(std::string_view text) {
  std::string out = "`";
  for (char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += (c == '`' || c == '\n' || c == '\r') ? ' ' : c;
  }
  return out + "`";
}

const KeyTally* find(const std::vector<const KeyTally*>& keys, const std::string& variant,
                     const std::string& dtype, const std::string& backend) {
  for (const KeyTally* k : keys)
    if (k->info.variant == variant && k->info.dtype == dtype && k->info.backend == backend) return k;
  return nullptr;
}

std::string counts_line(const Digest& d) {
  const Counts c = count(d);
  std::string line = grouped(c.planned) + " planned";
  if (c.executed < c.planned) line += fmt::format(", {} not run", grouped(c.planned - c.executed));
  line += fmt::format(", {} passed, {} failed, {} inconclusive", grouped(c[Status::pass]),
                      grouped(c[Status::fail]), grouped(c[Status::inconclusive]));
  if (c[Status::crashed]) line += fmt::format(", {} crashed", grouped(c[Status::crashed]));
  if (c[Status::hung]) line += fmt::format(", {} hung", grouped(c[Status::hung]));
  line += fmt::format(", {} not judged, {} keys not run", grouped(c[Status::unsupported]),
                      grouped(c.not_run_keys));
  return line;
}

std::string markdown_table(const Digest& digest, const std::string& backend) {
  const auto keys = pointers(digest);
  std::string out = fmt::format("\n### `{}`\n\n| variant |", backend);
  const auto types = dtypes(keys);
  for (const std::string& d : types)
    out += fmt::format(" {0} real ulp | {0} all ulp | {0} error/bound |", md(d));
  out += " pass / records |\n|---|";
  for (std::size_t i = 0; i < types.size(); ++i) out += "--:|--:|--:|";
  out += "--:|\n";
  for (const std::string& variant : variants(keys)) {
    std::string row = fmt::format("| {} |", code(variant));
    std::int64_t passed = 0, records = 0;
    bool any = false;
    for (const std::string& d : types) {
      const KeyTally* k = find(keys, variant, d, backend);
      any = any || k;
      if (k && !k->info.not_run.empty()) {
        row += " not run | | |";
        continue;
      }
      row += k ? fmt::format(" {} | {} | {} |", real_ulp(*k), any_ulp(*k), plain(k->bound)) : " | | |";
      if (k) passed += k->passed(), records += k->records();
    }
    if (any) out += row + fmt::format(" {} / {} |\n", grouped(passed), grouped(records));
  }
  return out;
}

std::string terminal_table(const Digest& digest, const std::string& backend) {
  const auto keys = pointers(digest);
  std::size_t width = 20;
  for (const std::string& variant : variants(keys)) width = std::max(width, variant.size());
  std::string head = fmt::format("{:<{}}", "@" + backend, width), under(width, ' ');
  for (const std::string& d : dtypes(keys)) {
    head += fmt::format("  {:^23}", d);
    under += fmt::format("  {:>7} {:>7} {:>7}", "real", "all", "bound");
  }
  std::string out, why;
  for (const std::string& variant : variants(keys)) {
    std::string row = fmt::format("{:<{}}", variant, width);
    std::int64_t passed = 0, records = 0;
    bool ran = false;
    for (const std::string& d : dtypes(keys)) {
      const KeyTally* k = find(keys, variant, d, backend);
      if (k && !k->info.not_run.empty()) why = k->info.not_run;
      if (!k || !k->info.not_run.empty()) {
        row += fmt::format("  {:>23}", "");
        continue;
      }
      ran = true;
      row += fmt::format("  {:>7} {:>7} {:>7}", real_ulp(*k), any_ulp(*k), plain(k->bound));
      passed += k->passed(), records += k->records();
    }
    if (ran) out += row + fmt::format("  {:>14}\n", fmt::format("{}/{}", passed, records));
  }
  if (out.empty()) return fmt::format("@{}: not run: {}\n\n", backend, why);
  return head + "\n" + under + fmt::format("  {:>14}\n", "pass/records") + out + "\n";
}

}  // namespace

bool report_passed(const Digest& d) {
  const Counts c = count(d);
  return c[Status::pass] > 0 && c.executed >= c.planned && c.bad() == 0;
}

Verdict verdict_of(const Digest& d) {
  const Counts c = count(d);
  if (c.wrong() > 0) return Verdict::fail;
  if (c[Status::inconclusive] > 0) return Verdict::inconclusive;
  const bool part = !d.about().part.empty();
  if (c.executed < c.planned) {
    if (!d.is_check() || c[Status::not_run] == 0) return Verdict::fail;
    return c.executed == 0 ? Verdict::not_run : Verdict::incomplete;
  }
  if (c.executed == 0 && c.not_run_keys > 0) return Verdict::not_run;
  if (!half_run(d).empty()) return Verdict::incomplete;
  // There may be more parts than cases: merge asks whether anything was judged.
  if (c[Status::pass] == 0) return part || c[Status::unsupported] > 0 ? Verdict::not_judged : Verdict::fail;
  if (only_launched(d)) return Verdict::not_judged;
  if (!uncovered(d).empty()) return Verdict::not_covered;
  return d.is_check() && judged_in_part(d) ? Verdict::judged_in_part : Verdict::pass;
}

std::string verdict_words(const Digest& d) {
  const std::string& part = d.about().part;
  return name(verdict_of(d)) + (part.empty() ? "" : " (" + part + ")");
}

std::string render_summary_markdown(const Digest& d) {
  const auto keys = pointers(d);
  const std::string verdict = md(verdict_words(d));
  std::string out = fmt::format("# Softmax {}: {}\n\n{}: {}.\n\n{}.\n",
                                d.is_check() ? "conformance check" : "accuracy report", verdict, verdict,
                                verdict_reason(d), counts_line(d));
  for (const auto& [key, contract] : d.about().contracts) {
    out += fmt::format("- {} within: {}\n", code(key), md(contract.within()));
    if (!contract.required.empty())
      out += fmt::format("- {} required: {}\n", code(key), md(contract.required));
    for (const std::string& why : contract.uncovered)
      out += fmt::format("- {} does not cover: {}\n", code(key), md(why));
    if (!contract.own.empty()) out += fmt::format("- {} declares itself: {}\n", code(key), md(contract.own));
    if (contract.limited())
      out +=
          fmt::format("- {} adopt with: {}\n", code(key), code("--declare '" + contract.to_declare() + "'"));
  }
  if (const std::string line = resolution_line(keys); !line.empty()) out += "- " + md(line) + "\n";
  for (const Reason& r : unsupported_reasons(d))
    out += fmt::format("- unsupported, {}: {} (first: {})\n", md(r.word), grouped(r.count),
                       md(shorten(r.example, 200)));
  for (const Reason& r : not_run_reasons(d))
    out += fmt::format("- not run: {} keys: {}\n", grouped(r.count), md(shorten(r.example, 200)));

  const auto bad = causes(d);
  if (!bad.empty()) {
    out +=
        "\n## Failures\n\n| key | check | status | records | first | repeat with "
        "|\n|---|---|---|--:|---|---|\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(bad.size(), 100); ++i)
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(bad[i].key), md(bad[i].check),
                         name(bad[i].status), grouped(bad[i].count), md(shorten(bad[i].detail, 300)),
                         code(bad[i].reproduce));
    if (bad.size() > 100) out += fmt::format("\n{} more groups: see records.jsonl.\n", bad.size() - 100);
  }

  if (const std::string why = not_sandboxed(d.about().environment); !why.empty())
    out += "\nNot sandboxed: " + md(why) + ".\n";
  out += "\n## Environment\n\n| | |\n|---|---|\n";
  for (const auto& [label, value] : d.about().environment)
    out += fmt::format("| {} | {} |\n", md(label), md(value));

  out +=
      "\n## Variants and dtypes\n\nLargest ULP error on real logits and on all families, and the largest "
      "error/bound: a right kernel may have a large ULP error on rows of wide range, but its error/bound "
      "stays below 1. In 16 bits it is near 1, because the last rounding is in it: the pages have it "
      "without.\n";
  for (const std::string& b : backends(keys)) out += markdown_table(d, b);

  std::vector<std::pair<double, const WorstRecord*>> worst;
  for (const KeyTally* k : keys)
    if (k->worst_bound) worst.emplace_back(k->worst_bound->first, &k->worst_bound->second);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (worst.size() > 10) worst.resize(10);
  out +=
      "\n## Worst cases by error/bound\n\nOne record per key. The element is the one with the largest ULP "
      "error in the record.\n\n| error/bound | ulp | logit | got | exact in | repeat with "
      "|\n|--:|--:|---|---|---|---|\n";
  for (const auto& [ratio, r] : worst)
    out +=
        fmt::format("| {} | {} | {} | {} | [{}, {}] | {} |\n", plain_number(ratio),
                    plain_number(r->element.ulp_error), hexfloat(r->element.logit), hexfloat(r->element.got),
                    hexfloat(r->element.exact_lo), hexfloat(r->element.exact_hi), code(r->reproduce));
  return out;
}

std::string render_summary_terminal(const Digest& d, const std::string& page_path) {
  const auto keys = pointers(d);
  std::string out =
      "Largest error in ULP on real logits and on all families, and the largest error/bound (1 is the "
      "limit).\n\n";
  for (const std::string& b : backends(keys)) out += terminal_table(d, b);
  out += fmt::format("{}: {}\n", verdict_words(d), verdict_reason(d));
  if (const std::string line = resolution_line(keys); !line.empty()) out += line + "\n";
  out += counts_line(d) + "\n";
  for (const Reason& r : unsupported_reasons(d))
    out += fmt::format("  unsupported, {}: {}\n", r.word, grouped(r.count));
  for (const Reason& r : not_run_reasons(d))
    out += fmt::format("  not run: {} keys: {}\n", grouped(r.count), shorten(r.example, 160));
  const auto bad = causes(d);
  for (std::size_t i = 0; i < std::min<std::size_t>(bad.size(), 3); ++i)
    out += fmt::format("{}. {} {}: {} ({} record{}): {}\n   {}\n", i + 1, bad[i].key, name(bad[i].status),
                       bad[i].check, grouped(bad[i].count), bad[i].count == 1 ? "" : "s",
                       shorten(bad[i].detail, 200), bad[i].reproduce);
  if (bad.size() > 3) out += fmt::format("{} more causes on the page\n", bad.size() - 3);
  return out + fmt::format("page: {}\n", page_path);
}

}  // namespace assay
