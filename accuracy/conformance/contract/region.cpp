// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/contract/region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"

namespace assay::conformance {
namespace {

using Text = std::string_view;

/// No row, and no launch, has more than this.
constexpr std::int64_t kMost = std::int64_t{1} << 46;
constexpr std::size_t kMostSpans = 64, kLongestText = 4096;

constexpr const char* kWords =
    "V=1..131072, rows=1..65536, k=1..64, max_abs=10000, alignment=16, pitch=any, masks=yes and "
    "types=f32,f16, with "
    "; between them";

Text trimmed(Text t) {
  while (!t.empty() && (t.front() == ' ' || t.front() == '\t')) t.remove_prefix(1);
  while (!t.empty() && (t.back() == ' ' || t.back() == '\t')) t.remove_suffix(1);
  return t;
}

std::vector<Text> parts_of(Text text, char mark) {
  std::vector<Text> all;
  for (;;) {
    const std::size_t at = text.find(mark);
    all.push_back(trimmed(text.substr(0, at)));
    if (at == Text::npos) return all;
    text.remove_prefix(at + 1);
  }
}

[[noreturn]] void refuse(Text word, const std::string& why) {
  throw InputError(fmt::format("--require {}: {}", word.substr(0, 80), why));
}

std::int64_t number(Text word, Text text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMost)
    refuse(word, "must be numbers from 1 to 2^46, as 4096, 1..4096, 32..4096/32 (every 32nd) or 1,2,4..8");
  return n;
}

std::vector<Span> spans(Text word, Text value) {
  std::vector<Span> all;
  for (const Text one : parts_of(value, ',')) {
    const std::size_t dots = one.find("..");
    Span s;
    s.from = s.to = number(word, trimmed(one.substr(0, dots)));
    if (dots != Text::npos) {
      const Text end = one.substr(dots + 2);
      const std::size_t slash = end.find('/');
      s.to = number(word, trimmed(end.substr(0, slash)));
      if (slash != Text::npos) s.step = number(word, trimmed(end.substr(slash + 1)));
      if (s.to < s.from) refuse(word, fmt::format("{} is less than {}", s.to, s.from));
    }
    all.push_back(s);
    if (all.size() > kMostSpans) refuse(word, fmt::format("has more than {} parts", kMostSpans));
  }
  return all;
}

bool yes(Text word, Text value) {
  if (value != "yes" && value != "no") refuse(word, "must be yes or no");
  return value == "yes";
}

/// Numbers of a span at which a limit shows: its ends, its first ones, those around powers of two.
void add_samples(const Span& s, std::set<std::int64_t>& all) {
  const auto add = [&](std::int64_t n) {
    n = s.from + (n - s.from) / s.step * s.step;
    if (n >= s.from && n <= s.to) all.insert(n);
  };
  add(s.to);
  for (std::int64_t i = 0; i < 64 && i * s.step <= s.to - s.from; ++i) all.insert(s.from + i * s.step);
  for (std::int64_t p = 64; p <= s.to; p *= 2)
    for (const std::int64_t n : {p - 1, p, p + 1}) add(n);
  add(s.to - s.step);
}

std::vector<std::int64_t> samples(const std::vector<Span>& spans) {
  std::set<std::int64_t> all;
  for (const Span& s : spans) add_samples(s, all);
  return {all.begin(), all.end()};
}

/// The first problem of the region that is beyond the limits; empty if none is.
std::string beyond_sizes(const Region& r, const Variant& v) {
  const bool selecting = selects(v.op), causal = v.claim.causal != Causal::no;
  const std::vector<std::int64_t> lengths = samples(r.V), counts = samples(r.rows);
  const std::vector<std::int64_t> ks = selecting ? samples(r.k) : std::vector<std::int64_t>();
  for (const std::int64_t V : lengths)
    for (const std::int64_t n : counts) {
      const std::int64_t rows = causal ? V : n;
      // No buffer has so many: what a program has is bounded by its memory.
      if (rows > kMost / V) continue;
      for (const std::int64_t pitch : {V, V + 1}) {
        if (pitch > V && !r.any_pitch) continue;
        const Pick pick = ks.empty() ? usual_pick(v.op) : Pick(static_cast<int>(std::min(ks.front(), V)));
        const Problem p = problem_of(v, v.op, rows, V, pick, pitch);
        if (std::string why = beyond_limits(v, p, r.alignment); !why.empty()) return why;
      }
      if (causal) break;
    }
  if (selecting && !ks.empty() && ks.back() > v.max_k)
    return fmt::format("k = {} exceeds max_k = {}", ks.back(), v.max_k);
  return {};
}

}  // namespace

Region usual_region() {
  Region r;
  r.V = r.rows = {{1, 4096}};
  r.k = {{1, 8}};
  r.max_abs = 1e4;
  return r;
}

Region region_of(const std::string& text) {
  if (text.size() > kLongestText) throw InputError("--require: is longer than 4096 characters");
  Region r = usual_region();
  std::set<Text> given;
  for (const Text pair : parts_of(text, ';')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == Text::npos) refuse(pair, std::string("is no word=value: the words are ") + kWords);
    const Text word = trimmed(pair.substr(0, equals)), value = trimmed(pair.substr(equals + 1));
    if (!given.insert(word).second) refuse(word, "is given twice");
    if (value.empty()) refuse(pair, "has no value");
    if (word == "V") {
      r.V = spans(pair, value);
    } else if (word == "rows") {
      r.rows = spans(pair, value);
    } else if (word == "k") {
      r.k = spans(pair, value);
    } else if (word == "max_abs") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), r.max_abs);
      if (value == "any")
        r.max_abs = std::numeric_limits<double>::infinity();
      else if (error != std::errc() || end != value.data() + value.size() || !(r.max_abs > 0) ||
               !std::isfinite(r.max_abs))
        refuse(pair, "must be a number above 0, or any");
    } else if (word == "alignment") {
      r.alignment = number(pair, value);
      if ((r.alignment & (r.alignment - 1)) != 0) refuse(pair, "must be a power of two, in bytes");
    } else if (word == "pitch") {
      if (value != "any" && value != "dense") refuse(pair, "must be any or dense");
      r.any_pitch = value == "any";
    } else if (word == "masks") {
      r.masks = yes(pair, value);
    } else if (word == "types") {
      for (const Text one : parts_of(value, ',')) {
        const std::optional<Dtype> type = parse_dtype(std::string(one));
        if (!type || !can_judge(*type)) refuse(pair, "must be of f16, bf16 and f32");
        r.types.push_back(*type);
      }
    } else {
      refuse(pair, std::string("the words are ") + kWords);
    }
  }
  return r;
}

std::vector<std::string> beyond(const Region& r, const Variant& v) {
  std::vector<std::string> all;
  if (std::string why = beyond_sizes(r, v); !why.empty()) all.push_back(std::move(why));
  if (r.masks && v.limits.finite) all.emplace_back("the kernel takes no -inf as a mask (finite=yes)");
  if (v.limits.max_abs > 0 && r.max_abs > v.limits.max_abs)
    all.push_back(
        std::isfinite(r.max_abs)
            ? fmt::format("a logit of size {:g} exceeds max_abs = {:g}", r.max_abs, v.limits.max_abs)
            : fmt::format("any finite logit: max_abs = {:g}", v.limits.max_abs));
  return all;
}

std::string own_limits(const Variant& variant, const std::string& typed) {
  std::string own;
  const std::string declared = declaration_of(variant);  // the parts point into it
  for (const Text pair : parts_of(declared, ';')) {
    const std::string word(trimmed(pair.substr(0, pair.find('='))));
    const auto limit = std::ranges::find(kLimitWords, word, &LimitWord::word);
    if (limit == std::end(kLimitWords) || !limit->of_launches || says(typed, word)) continue;
    if (is_no_promise(word, variant)) continue;
    own += (own.empty() ? "" : "; ") + std::string(pair);
  }
  return own;
}

void add_coverage(Contract& c, const Variant& variant, const std::string& typed,
                  const std::string& required) {
  const Region asked = region_of(required);  // the usual one if nothing is asked for
  c.required = required;
  c.uncovered = required.empty() ? std::vector<std::string>() : beyond(asked, variant);
  const std::string own = own_limits(variant, c.found.empty() ? typed : typed + "; " + c.found);
  if (own.empty()) return;
  // The kernel as its file alone declares it.
  Variant alone = variant;
  alone.limits = undeclared_limits();
  if (alone.max_k > 0) alone.max_k = kUndeclaredK;
  apply_declaration(own, alone);
  if (!beyond(asked, alone).empty()) c.own = own;
}

}  // namespace assay::conformance
