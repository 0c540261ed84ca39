// SPDX-License-Identifier: Apache-2.0
// summary.md and the last lines on the terminal. Both are a shorter form of the page.
#include "reports/data/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/data/digest.hpp"
#include "reports/data/html.hpp"

namespace assay {
namespace {

std::string counts_line(const Counts& c) {
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

std::string markdown_table(const RunSummary& f, const std::string& backend) {
  std::string out = fmt::format("\n### `{}`\n\n| variant |", backend);
  for (const std::string& d : f.dtypes)
    out += fmt::format(" {0} real ulp | {0} all ulp | {0} error/bound |", markdown(d));
  out += " pass / records |\n|---|";
  for (std::size_t i = 0; i < f.dtypes.size(); ++i) out += "--:|--:|--:|";
  out += "--:|\n";
  for (const std::string& variant : f.variants) {
    std::string row = fmt::format("| {} |", markdown_code(variant));
    std::int64_t passed = 0, records = 0;
    bool any = false;
    for (const std::string& d : f.dtypes) {
      const KeyTally* k = f.find_key(variant, d, backend);
      any = any || k;
      if (k && !k->info.not_run.empty()) {
        row += " not run | | |";
        continue;
      }
      row += k ? fmt::format(" {} | {} | {} |", plain_number(k->real(&Record::max_ulp).shown()),
                             plain_number(k->all(&Record::max_ulp).shown()), plain_number(k->bound.shown()))
               : " | | |";
      if (k) passed += k->passed(), records += k->records();
    }
    if (any) out += row + fmt::format(" {} / {} |\n", grouped(passed), grouped(records));
  }
  return out;
}

std::string terminal_table(const RunSummary& f, const std::string& backend) {
  std::size_t width = 20;
  for (const std::string& variant : f.variants) width = std::max(width, variant.size());
  std::string head = fmt::format("{:<{}}", "@" + backend, width), under(width, ' ');
  for (const std::string& d : f.dtypes) {
    head += fmt::format("  {:^23}", d);
    under += fmt::format("  {:>7} {:>7} {:>7}", "real", "all", "bound");
  }
  std::string out, why;
  for (const std::string& variant : f.variants) {
    std::string row = fmt::format("{:<{}}", variant, width);
    std::int64_t passed = 0, records = 0;
    bool ran = false;
    for (const std::string& d : f.dtypes) {
      const KeyTally* k = f.find_key(variant, d, backend);
      if (k && !k->info.not_run.empty()) why = k->info.not_run;
      if (!k || !k->info.not_run.empty()) {
        row += fmt::format("  {:>23}", "");
        continue;
      }
      ran = true;
      row += fmt::format("  {:>7} {:>7} {:>7}", plain_number(k->real(&Record::max_ulp).shown()),
                         plain_number(k->all(&Record::max_ulp).shown()), plain_number(k->bound.shown()));
      passed += k->passed(), records += k->records();
    }
    if (ran) out += row + fmt::format("  {:>14}\n", fmt::format("{}/{}", passed, records));
  }
  if (out.empty()) return fmt::format("@{}: not run: {}\n\n", backend, why);
  return head + "\n" + under + fmt::format("  {:>14}\n", "pass/records") + out + "\n";
}

}  // namespace

std::string verdict_words(const RunSummary& f) {
  const std::string& part = f.data.part;
  return name(f.verdict) + (part.empty() ? "" : " (" + part + ")");
}

std::string render_summary_markdown(const Digest& d) {
  const RunSummary f = summary_of(d);
  const std::string words = verdict_words(f), counts = counts_line(f.counts), verdict = markdown(words);
  std::string out =
      fmt::format("# Softmax {}: {}\n\n{}: {}.\n\n{}.\n", f.check ? "conformance check" : "accuracy report",
                  verdict, verdict, f.reason, counts);
  for (const auto& [key, contract] : f.data.contracts) {
    out += fmt::format("- {} within: {}\n", markdown_code(key), markdown(contract.within()));
    if (!contract.required.empty())
      out += fmt::format("- {} required: {}\n", markdown_code(key), markdown(contract.required));
    for (const std::string& why : contract.uncovered)
      out += fmt::format("- {} does not cover: {}\n", markdown_code(key), markdown(why));
    if (!contract.own.empty())
      out += fmt::format("- {} declares itself: {}\n", markdown_code(key), markdown(contract.own));
    if (contract.limited())
      out += fmt::format("- {} adopt with: {}\n", markdown_code(key),
                         markdown_code("--declare '" + contract.to_declare() + "'"));
  }
  if (!f.resolution.empty()) out += "- " + markdown(f.resolution) + "\n";
  for (const Reason& r : f.unsupported)
    out += fmt::format("- unsupported, {}: {} (first: {})\n", markdown(r.word), grouped(r.count),
                       markdown(shorten(r.example, 200)));
  for (const Reason& r : f.not_run)
    out += fmt::format("- not run: {} keys: {}\n", grouped(r.count), markdown(shorten(r.example, 200)));

  const auto& bad = f.causes;
  if (!bad.empty()) {
    out +=
        "\n## Failures\n\n| key | check | status | records | first | repeat with "
        "|\n|---|---|---|--:|---|---|\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(bad.size(), 100); ++i)
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_code(bad[i].key),
                         markdown(bad[i].check), name(bad[i].status), grouped(bad[i].count),
                         markdown(shorten(bad[i].detail, 300)), markdown_code(bad[i].reproduce));
    if (bad.size() > 100) out += fmt::format("\n{} more groups: see records.jsonl.\n", bad.size() - 100);
  }

  if (!f.unsandboxed.empty()) out += "\nNot sandboxed: " + markdown(f.unsandboxed) + ".\n";
  out += "\n## Environment\n\n| | |\n|---|---|\n";
  for (const auto& [label, value] : f.data.environment)
    out += fmt::format("| {} | {} |\n", markdown(label), markdown(value));

  out +=
      "\n## Variants and dtypes\n\nLargest ULP error on real logits and on all families, and the largest "
      "error/bound: a right kernel may have a large ULP error on rows of wide range, but its error/bound "
      "stays below 1. In 16 bits it is near 1, because the last rounding is in it: the pages have it "
      "without.\n";
  for (const std::string& b : f.backends) out += markdown_table(f, b);

  std::vector<std::pair<double, const WorstRecord*>> worst;
  for (const KeyTally* k : f.keys)
    if (k->worst_bound) worst.emplace_back(k->worst_bound->first, &k->worst_bound->second);
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  if (worst.size() > 10) worst.resize(10);
  out +=
      "\n## Worst cases by error/bound\n\nOne record per key. The element is the one with the largest ULP "
      "error in the record.\n\n| error/bound | ulp | logit | got | exact in | repeat with "
      "|\n|--:|--:|---|---|---|---|\n";
  for (const auto& [ratio, r] : worst)
    out += fmt::format("| {} | {} | {} | {} | [{}, {}] | {} |\n", plain_number(ratio),
                       plain_number(r->element.ulp_error), hexfloat(r->element.logit),
                       hexfloat(r->element.got), hexfloat(r->element.exact_lo), hexfloat(r->element.exact_hi),
                       markdown_code(r->reproduce));
  return out;
}

std::string render_summary_terminal(const Digest& d, const std::string& page_path) {
  const RunSummary f = summary_of(d);
  std::string out =
      "Largest error in ULP on real logits and on all families, and the largest error/bound (1 is the "
      "limit).\n\n";
  for (const std::string& b : f.backends) out += terminal_table(f, b);
  out += fmt::format("{}: {}\n", verdict_words(f), f.reason);
  if (!f.resolution.empty()) out += f.resolution + "\n";
  out += counts_line(f.counts) + "\n";
  for (const Reason& r : f.unsupported)
    out += fmt::format("  unsupported, {}: {}\n", r.word, grouped(r.count));
  for (const Reason& r : f.not_run)
    out += fmt::format("  not run: {} keys: {}\n", grouped(r.count), shorten(r.example, 160));
  const auto& bad = f.causes;
  for (std::size_t i = 0; i < std::min<std::size_t>(bad.size(), 3); ++i)
    out += fmt::format("{}. {} {}: {} ({} record{}): {}\n   {}\n", i + 1, bad[i].key, name(bad[i].status),
                       bad[i].check, grouped(bad[i].count), bad[i].count == 1 ? "" : "s",
                       shorten(bad[i].detail, 200), bad[i].reproduce);
  if (bad.size() > 3) out += fmt::format("{} more causes on the page\n", bad.size() - 3);
  return out + fmt::format("page: {}\n", page_path);
}

}  // namespace assay
