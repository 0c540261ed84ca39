// SPDX-License-Identifier: Apache-2.0
// A synthetic run for the renderers' tests: every variant, dtype and kind of record, with errors of
// plausible size. No kernel runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/page/page.hpp"
#include "reports/runs/selftest.hpp"

namespace assay::test_data {

inline const std::vector<std::string> kVariants = {"naive_block",       "safe_block",     "online_thread",
                                                   "online_warp",       "online_block",   "online_block_fast",
                                                   "topk_block",        "safe_then_topk", "safe_topk_block",
                                                   "online_topk_block", "safe_block_half"};
inline const std::vector<std::string> kFamilies = {
    "gpt_logits",  "attention_causal", "normal_1", "uniform_80",    "ramp_1ulp", "overflow",
    "all_neg_inf", "pos_inf",          "nan",      "single_finite", "inf_warp"};
inline const std::vector<std::int64_t> kSizes = {0,   1,    2,    31,   32,   33,   63,    127,   128,
                                                 129, 1000, 1023, 1024, 1025, 4099, 32000, 50257, 128256};

inline bool starts(const std::string& s, const char* with) { return s.rfind(with, 0) == 0; }

// Errors as large as those of real kernels: half an ulp for 16-bit outputs; for f32 they grow with the range.
inline Record record(const KeyInfo& key, const std::string& family, std::int64_t V, std::mt19937& random) {
  const auto jitter = [&](double lo, double hi) { return std::uniform_real_distribution<>(lo, hi)(random); };
  Record r;
  r.key = key.key, r.variant = key.variant, r.dtype = key.dtype, r.backend = key.backend, r.op = key.op;
  r.family = family, r.V = V, r.rows = V < 2048 ? 8 : 1, r.seed = 7;
  r.reproduce = "assay report --key " + r.key + " --family " + family + " --V " + std::to_string(V) +
                " --rows " + std::to_string(r.rows) + " --seed 7";
  r.status = Status::pass;
  if (!key.not_run.empty()) {
    r.status = Status::not_run, r.reason = key.not_run;
    return r;
  }
  r.rows_judged = r.rows;
  if (key.variant == "naive_block" && (family == "overflow" || family == "pos_inf")) {
    r.status = Status::unsupported, r.why = Why::domain,
    r.reason = "domain: lse above the logarithm of the largest finite number";
    r.returned = "row 0: NaN x3, 0 x5", r.rows_outside = r.rows, r.rows_judged = 0;
    return r;
  }
  if (family == "all_neg_inf" || family == "pos_inf" || family == "nan")
    r.returned = "row 0: NaN x" + std::to_string(V);
  if (V == 0 || !r.returned.empty() || key.variant == "topk_block") {
    r.checks = {{Check::special, r.rows * V, 0, 0, 0, ""}};
    return r;
  }
  const double wide = family == "uniform_80" ? 8 : family == "ramp_1ulp" ? 3 : 1;
  double ulp = 0.5 + jitter(0, 0.003);
  if (key.dtype == "f32") ulp = wide * jitter(1.2, 2.0) * (1 + std::log2(static_cast<double>(V)) / 8);
  if (key.exp == "fast") ulp *= key.dtype == "f32" ? 3 : 1.01;
  if (key.exp == "half") ulp = std::sqrt(static_cast<double>(V)) * jitter(0.5, 0.9);
  if (V == 1) ulp = 0;
  r.max_ulp = ulp, r.p99_ulp = 0.7 * ulp, r.mean_ulp = 0.3 * ulp;
  r.correctly_rounded = key.dtype == "f32" ? 0.45 : 0.997;
  r.max_bound_ratio = ulp == 0 ? 0 : (key.dtype == "f32" ? jitter(0.2, 0.6) : jitter(0.9, 0.997));
  r.checks = {{Check::element, r.rows * V, 0, 0, *r.max_bound_ratio, ""},
              {Check::row_sum, r.rows, 0, 0, 0.1, ""}};
  const double exact = jitter(1e-6, 1e-2);
  r.worst = WorstElement{0,
                         V / 2,
                         jitter(-9, 9),
                         -jitter(0, 9),
                         exact * (1 + 1e-6),
                         exact,
                         std::nextafter(exact, 1.0),
                         ulp,
                         *r.max_bound_ratio};
  return r;
}

inline Profile profile(const KeyInfo& key, const std::string& family) {
  Profile p;
  p.key = key.key, p.variant = key.variant, p.dtype = key.dtype, p.backend = key.backend;
  p.family = family, p.V = 32000, p.signed_limit = 4, p.below = 12, p.above = 30;
  const double far = family == "uniform_80" ? 80 : 18;
  for (int i = 0; i < 40; ++i) {
    const double at = far * i / 40;
    const double ulp = key.dtype == "f32" ? 1.2 + 0.6 * at * (0.7 + 0.3 * std::sin(3.0 * i))
                                          : 0.5 + 1e-3 * std::sin(1.0 * i);
    const double bound = key.dtype == "f32" ? 9 + 1.1 * at : 0.51 + at * 1e-3;
    p.bins.push_back({at, far * (i + 1) / 40, i == 7 ? 0 : 800, ulp, bound, 0.3 * ulp});
  }
  for (int i = 0; i < 64; ++i) {
    const double e = -4 + (i + 0.5) / 8;
    const double share = key.dtype == "f32" ? std::exp(-e * e / 1.5) / 2 : (std::fabs(e) < 0.5 ? 1 : 0);
    p.signed_counts.push_back(std::llround(32000 * share / 8));
  }
  return p;
}

// Every key on every backend; cuda keys are not_run. Each case has `repeat` seeds.
inline ReportData synthetic(int repeat = 1, const std::vector<std::string>& backends = {"cuda", "host"}) {
  ReportData data;
  data.environment = {
      {"commit", "0123456789ab"}, {"machine", "two cores"}, {"compiler", "g++ 12.2, -O2 -ffp-contract=off"}};
  for (const auto& f : kFamilies) data.families.push_back({f, "one sentence on what " + f + " attacks"});
  std::mt19937 random(7);
  for (const std::string& backend : backends)
    for (const std::string& variant : kVariants)
      for (const char* dtype : {"f16", "bf16", "f32"}) {
        if (variant == "safe_block_half" && dtype == std::string("f32")) continue;
        KeyInfo k{variant + "/" + dtype + "@" + backend,
                  variant,
                  dtype,
                  backend,
                  "softmax",
                  "safe",
                  "accurate",
                  "ieee",
                  "f32",
                  "2+1",
                  "all -inf: NaN; +inf: NaN; NaN: NaN",
                  "run_to_run",
                  ""};
        if (starts(variant, "naive")) k.algorithm = "naive";
        if (starts(variant, "online")) k.algorithm = "online";
        if (variant == "online_block_fast") k.exp = "fast", k.division = "approximate";
        if (variant == "safe_block_half") k.exp = "half", k.internals = dtype;
        if (backend == "cuda") k.not_run = "no GPU: no device answers";
        data.keys.push_back(k);
      }
  for (const KeyInfo& k : data.keys) {
    for (const std::string& family : kFamilies)
      for (std::int64_t V : kSizes)
        for (int i = 0; i < repeat; ++i) {
          data.records.push_back(record(k, family, V, random));
          data.planned += k.not_run.empty();
        }
    if (k.not_run.empty() && k.variant != "topk_block")
      for (const char* family : {"gpt_logits", "uniform_80"}) data.profiles.push_back(profile(k, family));
  }
  data.executed = data.planned;
  data.seconds = 71.4;
  return data;
}

/// One page of a report; all of them, one after the other.
inline std::string page_of(const ReportData& data, const std::string& name = "index.html") {
  for (const auto& [file, text] : render_pages(data))
    if (file == name) return text;
  throw std::logic_error("no page " + name);
}
inline std::string all_pages(const ReportData& data) {
  std::string all;
  for (const auto& [file, text] : render_pages(data)) all += text;
  return all;
}

inline Record& first_passing(ReportData& data) {
  for (Record& r : data.records)
    if (r.status == Status::pass && r.worst) return r;
  throw std::logic_error("no passing record");
}

inline Record& break_one(ReportData& data) {
  Record& r = first_passing(data);
  r.status = Status::fail, r.reason = "element: row 3, column 511";
  r.checks[0].failed = 1, r.checks[0].detail = "row 3, column 511: got 0, exact 1.7e-3";
  return r;
}

/// A self-test in which everything is as expected. Nothing runs.
inline Selftest all_well() {
  Selftest s;
  s.peer_rows = 16;
  for (const Mutant& m : mutants()) {
    SelftestEntry e;
    e.mutant = &m;
    e.ran = true;
    e.refused = m.kind != Kind::right;
    if (e.refused) e.failed = {m.expect.check};
    e.peers_ran = m.single_case();
    s.entries.push_back(std::move(e));
  }
  return s;
}

}  // namespace assay::test_data

namespace assay::test_html {

// For tests of pages: are the tags balanced, does the page need the network, are coordinates numbers?

/// Checks that every start tag has its end tag, in the right order. Browsers are less strict. Returns the
/// first fault, or "".
inline std::string unbalanced(const std::string& html) {
  const std::set<std::string> empty = {"meta", "link", "br", "input", "img", "hr"};
  std::vector<std::string> open;
  for (std::size_t i = html.find('<'); i != std::string::npos; i = html.find('<', i)) {
    if (html.compare(i, 9, "<!DOCTYPE") == 0) {
      i = html.find('>', i);
      continue;
    }
    if (html.compare(i, 4, "<!--") == 0) {
      i = html.find("-->", i);
      continue;
    }
    bool quoted = false;
    std::size_t end = i + 1;
    while (end < html.size() && (quoted || html[end] != '>')) {
      if (html[end] == '"') quoted = !quoted;
      if (!quoted && html[end] == '<') return "'<' inside a tag: " + html.substr(i, 60);
      ++end;
    }
    if (end == html.size()) return "unclosed tag: " + html.substr(i, 60);
    const bool closing = html[i + 1] == '/';
    const std::size_t start = i + 1 + closing;
    const std::string tag = html.substr(start, html.find_first_of(" />\n", start) - start);
    if (tag.empty()) return "stray '<': " + html.substr(i, 60);
    if (closing) {
      if (open.empty() || open.back() != tag)
        return "</" + tag + "> without its start: " + html.substr(i, 60);
      open.pop_back();
    } else if (html[end - 1] != '/' && !empty.contains(tag)) {
      open.push_back(tag);
      if (tag == "script" || tag == "style") end = html.find("</" + tag, end) - 1;
    }
    i = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

inline int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto i = text.find(what); i != std::string::npos; i = text.find(what, i + what.size())) ++n;
  return n;
}

/// The coordinates of every path, a line each.
inline std::string paths(const std::string& html) {
  std::string out;
  for (auto i = html.find(" d=\""); i != std::string::npos; i = html.find(" d=\"", i + 1))
    out += html.substr(i + 4, html.find('"', i + 4) - i - 4) + "\n";
  return out;
}

/// The first thing that would use the network, or link to something that neither the page nor `files` has; ""
/// if there is none.
inline std::string foreign_address(std::string html, const std::set<std::string>& files = {}) {
  const std::string name_space = "http://www.w3.org/2000/svg";  // a name, not an address
  for (auto i = html.find(name_space); i != std::string::npos; i = html.find(name_space, i))
    html.erase(i, name_space.size());
  for (const char* word : {"http:", "https:", "src=", "url(", "@import", "//cdn", "fetch(", "XMLHttpRequest"})
    if (html.find(word) != std::string::npos) return word;
  for (auto i = html.find("href=\""); i != std::string::npos; i = html.find("href=\"", i + 1)) {
    const std::string target = html.substr(i + 6, html.find('"', i + 6) - i - 6);
    if (target == "data:," || files.contains(target)) continue;
    if (target[0] != '#' || html.find("id=\"" + target.substr(1) + "\"") == std::string::npos) return target;
  }
  return "";
}

}  // namespace assay::test_html
