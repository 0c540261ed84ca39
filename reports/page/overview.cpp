// SPDX-License-Identifier: Apache-2.0
// The head of the page: verdict, counts, failures, the machine. And its last section: what the words mean.
#include <fmt/format.h>

#include <algorithm>

#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

std::string counts(const Counts& n) {
  std::vector<Count> out;
  const auto item = [&](const char* label, std::int64_t v, const char* css) {
    out.push_back({label, grouped(v), css});
  };
  item("planned", n.planned, "");
  // Whether every planned case was taken up; some of these cannot be launched, and count as unsupported.
  if (n.executed < n.planned) item("executed", n.executed, "bad");
  item("pass", n[Status::pass], "good");
  item("fail", n[Status::fail], "bad");
  item("inconclusive", n[Status::inconclusive], "warn");
  if (n[Status::crashed]) item("crashed", n[Status::crashed], "bad");
  if (n[Status::hung]) item("hung", n[Status::hung], "bad");
  item("unsupported", n[Status::unsupported], "");
  item("keys not run", n.not_run_keys, "");
  return count_list(out) + "\n";
}

std::string reasons(const Context& c) {
  std::string out;
  for (const Reason& r : c.unsupported)
    out += fmt::format("<li>{} unsupported, reason <b>{}</b>; for example: {}</li>", grouped(r.count),
                       escape(r.word), escape(shorten(r.example, 240)));
  for (const Reason& r : c.not_run) {
    out += fmt::format("<li>{} keys not run: {}", grouped(r.count), escape(shorten(r.example, 240)));
    out += "<details><summary>Which keys</summary>";
    for (const KeyTally* k : c.keys)
      if (!k->info.not_run.empty() && k->info.not_run.substr(0, k->info.not_run.find(':')) == r.word)
        out += "<code>" + escape(k->info.key) + "</code> ";
    out += "</details></li>";
  }
  return out.empty() ? "" : "<ul>" + out + "</ul>\n";
}

std::string cause_rows(const std::vector<Cause>& all, std::size_t from, std::size_t to) {
  std::string out =
      open_table({"key", "check", "status", "#records", "first one, and the command that repeats it"}) +
      "<tbody>";
  for (std::size_t i = from; i < to; ++i) {
    const Cause& f = all[i];
    out += fmt::format(
        "<tr><th><code>{}</code></th><td>{}</td><td>{}</td>{}<td class=\"wide\">{}, V = {}: "
        "{}<br>{}</td></tr>",
        escape(f.key), escape(f.check), status_word(f.status), count_cell(f.count), escape(f.family),
        grouped(f.V), escape(shorten(f.detail, 400)), command(f.reproduce));
  }
  return scroll(out + "</tbody></table>");
}

std::string capitalised(std::string s) {
  s[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(s[0])));
  return s;
}

/// What failing cases of a check have in common: the first thing that the author of the kernel wants to know.
std::string diagnoses(const Context& c) {
  std::string out;
  int shown = 0;
  for (const KeyTally* k : c.keys)
    if (!k->conformance.findings.empty() && ++shown <= 10)
      out += findings_list(k->info.key, k->conformance, 3);
  return out;
}

/// One line per kernel: the limits within which it is right. The section on conformance has the details.
std::string contracts(const Context& c) {
  std::string out;
  for (const KeyTally* k : c.keys) {
    const auto at = c.data.contracts.find(k->info.key);
    if (at == c.data.contracts.end()) continue;
    const auto& [key, contract] = *at;
    const bool right = k->right();
    out += fmt::format("<p><code>{}</code> {} <b>{}</b>.", escape(key),
                       right ? "is right within" : "fails within", escape(contract.within()));
    if (!contract.uncovered.empty())
      out += " It does not cover what is required: " + escape(contract.uncovered.front()) + ".";
    if (right && contract.limited())
      out += " To make it official: " + command("--declare '" + contract.to_declare() + "'");
    out += "</p>\n";
  }
  return out;
}

/// What the verdict rests on.
std::string how_judged(const Context& c) {
  const Counts& n = c.counts;
  const std::int64_t judged = n[Status::pass] + n[Status::fail] + n[Status::inconclusive];
  std::int64_t by_mpfr = 0;
  for (const KeyTally* k : c.keys) by_mpfr += k->escalated;
  std::string out =
      "Every output element is compared with an interval that is proved to contain the exact value, and "
      "judged "
      "by the error bound of the kernel's own algorithm.";
  if (judged > 0)
    out += fmt::format(" Where intervals in fp64 leave a case open, MPFR decides: here in {} of {} cases.",
                       grouped(by_mpfr), grouped(judged));
  return out;
}

}  // namespace

std::string failures(const Context& c) {
  const auto& all = c.causes;
  if (all.empty()) return "";
  constexpr std::size_t kOpen = 10, kMost = 200;
  std::string out = "<h3>What failed, and the command that repeats it</h3>" + diagnoses(c);
  out += cause_rows(all, 0, std::min(all.size(), kOpen));
  if (all.size() > kOpen)
    out += fmt::format("<details><summary>{} more</summary>", all.size() - kOpen) +
           cause_rows(all, kOpen, std::min(all.size(), kMost)) + "</details>";
  if (all.size() > kMost)
    out += fmt::format("<p>{} further groups are in <code>records.jsonl</code>.</p>", all.size() - kMost);
  return out;
}

Frame kernel_overview(const Context& c) {
  const Counts& n = c.counts;
  const std::int64_t bad = n.wrong();
  std::int64_t lost = 0, coarse = 0;  // lost: cases of keys that can run there
  bool barely = false;
  for (const KeyTally* k : c.keys) {
    lost += k->ran() ? k->status[Status::not_run] : 0;
    coarse += k->coarse, barely |= k->barely_judged();
  }
  Frame f;
  f.passed = bad + n[Status::inconclusive] + lost == 0 && n[Status::pass] > 0 && !barely;
  f.partly = barely && bad + n[Status::inconclusive] + lost == 0;
  f.verdict = bad > 0                       ? name(Verdict::fail)
              : lost > 0                    ? name(Verdict::incomplete)
              : n[Status::inconclusive] > 0 ? name(Verdict::inconclusive)
              : barely                      ? name(Verdict::judged_in_part)
              : n[Status::pass] > 0         ? name(Verdict::pass)
              : n[Status::unsupported] > 0  ? name(Verdict::not_judged)
                                            : name(Verdict::not_run);
  const std::string name = escape(c.variants.front());
  f.subject = name;
  f.heading = name;
  const KeyInfo& info = c.keys.front()->info;
  f.about = escape(info.op) + (info.algorithm.empty()
                                   ? ""
                                   : ": " + escape(info.algorithm) + ", exp " + escape(info.exp) +
                                         ", division " + escape(info.division) + ".");
  if (!c.data.part.empty()) f.sentence = escape(capitalised(c.data.part)) + " of this run: ";
  f.sentence += fmt::format("{} of {} cases passed", grouped(n[Status::pass]),
                            grouped(n[Status::pass] + bad + n[Status::inconclusive]));
  if (n[Status::hung] > 0) f.sentence += fmt::format(", {} hung", grouped(n[Status::hung]));
  if (n[Status::crashed] > 0) f.sentence += fmt::format(", {} crashed", grouped(n[Status::crashed]));
  if (lost > 0) f.sentence += fmt::format("; {} did not run", grouped(lost));
  if (coarse > 0)
    f.sentence += fmt::format(
        "; {} could not be judged, because the arithmetic that the kernel claims is so coarse that nearly "
        "any "
        "output would pass",
        grouped(coarse));
  if (n[Status::unsupported] > coarse)
    f.sentence += fmt::format("; {} lie outside the kernel's declared domain",
                              grouped(n[Status::unsupported] - coarse));
  f.sentence += ".";
  f.facts = contracts(c);
  if (!c.resolution.empty()) f.facts += "<p>" + escape(capitalised(c.resolution)) + ".</p>\n";
  f.below = failures(c);
  return f;
}

Frame overview(const Context& c) {
  const bool check = c.check;
  const Verdict verdict = c.verdict;
  Frame f;
  f.verdict = name(verdict);
  f.passed = verdict == Verdict::pass;
  f.partly = verdict == Verdict::judged_in_part;
  f.subject = check ? "softmax conformance check" : "softmax accuracy report";
  f.heading = check ? "Softmax conformance check" : "Softmax accuracy report";
  const std::string part = c.data.part.empty() ? "" : c.data.part + " of this run: ";
  f.sentence = escape(capitalised(part + c.reason)) + ".";
  if (!c.data.part.empty()) f.subject += ", " + escape(c.data.part);
  if (c.data.seconds > 0) f.sentence += fmt::format(" Took {} s.", number(c.data.seconds));
  f.facts = contracts(c);
  if (c.data.quick && !check)
    f.facts +=
        "<p>This was a quick report: some of the row lengths, fewer rows, and fewer families of long rows. "
        "<code>assay report</code> takes all.</p>\n";
  if (c.data.quick && check && !c.keys.empty())
    f.facts += "<p>This was a quick check: " + c.keys.front()->conformance.lengths_tried + ".</p>\n";
  if (!c.resolution.empty()) f.facts += "<p>" + escape(capitalised(c.resolution)) + ".</p>\n";
  if (!c.unsandboxed.empty()) f.facts += "<p>Not sandboxed: " + escape(c.unsandboxed) + ".</p>\n";
  // What failed comes first: it is what a failing page is opened for.
  f.facts = failures(c) + f.facts;
  return f;
}

std::string what_ran(const Context& c) {
  return counts(c.counts) + reasons(c) + "<p>" + how_judged(c) + "</p>\n";
}

std::string how_to_read() {
  const std::pair<const char*, const char*> words[] = {
      {"ULP error",
       "The distance of a result from the exact real value. The unit is the last place of the exact value in "
       "the output's format. A correctly rounded result has at most 0.5."},
      {"bound",
       "A limit on the error of one element. It is proved from what the kernel declares: algorithm, exp, "
       "division, internal format and the height of its summation tree. No tolerance is chosen by hand."},
      {"error/bound",
       "The share of the bound that was used (its utilisation). Above 1, the kernel is wrong, or its claim "
       "is. If it is far below 1 everywhere, the bound is loose."},
      {"error/bound without the last rounding",
       "The same for single elements, where half an ulp is left out of the error and of the bound. Rounding "
       "the "
       "output may cost any kernel half an ulp, so in 16-bit outputs it hides the difference between "
       "kernels."},
      {"ordinary rows",
       "Logits and attention scores that were recorded from real networks, and N(0, 1). The other families "
       "are "
       "made to break kernels."},
      {"resolution",
       "The smallest error that a pass excludes: an output that is off by more would have been refused. If "
       "it is larger than 0.001 (f32 outputs) or two units of roundoff (16-bit outputs), there is no pass."},
      {"correctly rounded",
       "The share of all judged elements that equal the exact value, rounded to the output's format."},
      {"|x &minus; m|",
       "The distance of a logit from its row's maximum, in nats. x &minus; m is rounded before the "
       "exponential, so the error of a right kernel grows with it."},
      {"key",
       "A variant, a dtype and a backend, as in <code>online_block/f16@host</code>. A result on one backend "
       "says nothing about another."},
      {"backend",
       "<code>cuda</code> is the GPU. <code>host</code> runs the same kernel source on the CPU, without "
       "fused multiply-add; <code>host_fma</code> runs it with fused multiply-add."},
      {"pass",
       "Every check of the record holds. The enclosures of the exact values are narrow enough to "
       "prove it."},
      {"fail", "At least one comparison is proved to violate its limit."},
      {"inconclusive",
       "Neither pass nor fail is proved: the bound is too weak for these inputs, or the enclosure is too "
       "wide even at the highest precision."},
      {"unsupported",
       "The case is outside the domain that the kernel declares, or not expressible on this backend. If it "
       "can be run, it is run, and the record says what came back."},
      {"not_run",
       "The key cannot run on this machine, and the record says why. It is neither a pass nor a failure."},
      {"crashed, hung", "The kernel ended its process, or exceeded its time limit."},
      {"accesses", "The accesses to global memory per element that the kernel claims: loads + stores."},
  };
  std::string out = "<dl class=\"words\">";
  for (const auto& [word, text] : words) out += fmt::format("<dt>{}</dt><dd>{}</dd>", word, text);
  return out +
         "</dl><p>One click on a command selects all of it. The complete records are in "
         "<code>records.jsonl</code> beside this page, or packed in <code>records.jsonl.gz</code>.</p>";
}

}  // namespace assay::page
