// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/contract/limit_trials.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::conformance {
namespace {

/// The most elements of a launch of the search: it tests sizes, not endurance.
constexpr std::int64_t kMostElements = std::int64_t{1} << 24;

Problem problem_at(const Variant& v, const CaseShape& s) {
  return problem_of(v, v.op, s.rows, s.V, s.pick(), s.V);
}

}  // namespace

Trials::Trials(const Variant& variant, const std::vector<Record>& records) : variant_(variant) {
  for (const Record& r : records) {
    if ((r.group != "shapes" && r.group != "rows") || r.V <= 0 || r.rows <= 0) continue;
    const bool no = fails(r) && says_no(r);
    if (r.status != Status::pass && !fails(r)) continue;
    // A launch that was refused for its address, or for empty slots, says nothing about the number of rows or
    // logits.
    const int k = selects(variant.op) ? r.k : 0;
    if (no && (cause_of(r) == FaultKind::misaligned || k > r.V)) continue;
    Known& known = known_[{r.rows, r.V, k}];
    // A size that was both accepted and refused was not refused for its size.
    if (known.answer == Answer::taken) continue;
    known = no ? Known{Answer::refused, what_it_said(r)} : Known{Answer::taken};
  }
}

int Trials::usual_k(std::int64_t V) const {
  return selects(variant_.op) ? allowed_k(variant_, std::min(5, variant_.max_k), V) : 0;
}

Trials::Answer Trials::at(const CaseShape& asked) {
  const CaseShape size = launched_as(asked);
  if (const auto found = known_.find(size); found != known_.end()) return found->second.answer;
  return (known_[size] = launched(size)).answer;
}

CaseShape Trials::launched_as(CaseShape size) const {
  size.rows = whole_squares(variant_, size.V, size.rows);
  return size;
}

Trials::Known Trials::launched(const CaseShape& size) const {
  if (size.rows <= 0 || size.V <= 0 || size.rows > kMostElements / size.V || size.k > variant_.max_k)
    return {};
  Problem p = problem_at(variant_, size);
  const Layout layout = fitted(plain_layout(), variant_, p);
  p.in_pitch = p.V + layout.in_gap;
  p.out_pitch = p.out_columns() + layout.out_gap;
  if (!beyond_limits(variant_, p, 0).empty()) return {};
  const Tensor logits = make_rows("constant", variant_.dtype, size.V, size.rows, 1);
  GuardedLaunch launch(variant_, p, logits, layout);
  const LaunchOutcome outcome = launch.run();
  if (outcome.ended == Ended::hung || outcome.ended == Ended::lost) return {};
  if (outcome.ok() || !says_no(outcome.kind)) return {Answer::taken};
  if (outcome.kind == FaultKind::misaligned || size.k > size.V) return {};
  return {Answer::refused, what_it_said(outcome.kind, outcome.fault)};
}

std::optional<CaseShape> Trials::known_good() {
  const auto rank = [](const CaseShape& s) {
    // All multiples of 64 count as equally round.
    const int twos = std::min(std::countr_zero(static_cast<std::uint64_t>(s.V)), 6);
    return std::tuple(-twos, s.V, s.rows, s.k);
  };
  std::optional<CaseShape> best;
  for (const auto& [size, known] : known_)
    if (known.answer == Answer::taken && (!best || rank(size) < rank(*best))) best = size;
  if (best) return best;
  // Multiples of many numbers, and the small sizes that a kernel without tails accepts.
  for (const std::int64_t rows : {1, 8, 64, 256, 960, 128})
    for (const std::int64_t V : {64, 32, 256, 1024, 1, 8, 128, 512, 4, 2, 96, 768, 960, 4096}) {
      std::vector<int> ks = {usual_k(V)};
      if (selects(variant_.op)) ks.insert(ks.end(), {1, 2, 4, 8});
      for (const int k : ks)
        if (const CaseShape s{rows, V, k}; takes(s)) return s;
    }
  return {};
}

namespace {

/// The most launches that narrow a limit down between two sizes that were tried.
constexpr int kSteps = 48;
/// Fewer sizes than this do not prove a multiple, so more are tried.
constexpr std::size_t kEnough = 24;

using Answer = Trials::Answer;
using Sizes = std::map<std::int64_t, std::string>;  // each with the kernel's message, if it was refused

/// The sizes of one axis: what was tried, and the names of its limits.
struct Line {
  const char* what;      // "V"
  const char* multiple;  // "V_multiple"
  const char* most;
  const char* least;
  std::function<CaseShape(std::int64_t n)> at;
  Sizes good, refused;

  /// Tries one size, and keeps the answer.
  bool takes(Trials& trials, std::int64_t n) {
    const Answer answer = trials.at(at(n));
    if (answer == Answer::taken) good.emplace(n, "");
    if (answer == Answer::refused) refused.emplace(n, trials.said(at(n)));
    return answer == Answer::taken;
  }
  /// Takes over what is already known about this axis.
  void learn(const Trials& trials, const std::function<std::int64_t(const CaseShape&)>& of) {
    for (const auto& [size, known] : trials.known()) {
      const std::int64_t n = of(size);
      if (size != at(n)) continue;
      if (known.answer == Answer::taken) good.emplace(n, "");
      if (known.answer == Answer::refused) refused.emplace(n, known.said);
    }
  }
  std::string seen(std::int64_t n) const { return fmt::format("{} = {} {}", what, n, refused.at(n)); }
};

/// The last accepted size before `bad`, starting from `good`, in steps of `step`; upwards or downwards.
std::int64_t last_good(Line& line, Trials& trials, std::int64_t good, std::int64_t bad, std::int64_t step) {
  const bool up = bad > good;
  good /= step, bad = up ? (bad + step - 1) / step : bad / step;
  for (int n = 0; n < kSteps && (up ? bad - good : good - bad) > 1; ++n) {
    const std::int64_t middle = (good + bad) / 2;
    (line.takes(trials, middle * step) ? good : bad) = middle;
  }
  return good * step;
}

std::int64_t divisor_of_good(const Line& line) {
  std::int64_t multiple = 0;
  for (const auto& [n, said] : line.good) multiple = std::gcd(multiple, n);
  return multiple;
}

/// The common divisor of all accepted sizes. The few sizes that were tried may have a larger divisor than
/// needed, so sizes that are not multiples of it are tried too.
std::int64_t multiple_of(Line& line, Trials& trials) {
  std::int64_t multiple = divisor_of_good(line);
  for (std::int64_t prime = 2; prime <= multiple;) {
    const std::int64_t part = multiple / prime, least = line.good.begin()->first;
    bool more = false;
    if (multiple % prime == 0)
      for (const std::int64_t n : {least - part, least + part, line.good.rbegin()->first - part})
        more = more || (n > 0 && line.takes(trials, n));
    if (more)
      multiple = divisor_of_good(line);
    else
      ++prime;
    // The multiples of real kernels are powers of two times a small number.
    if (prime > 61) break;
  }
  return multiple;
}

/// The limits that separate the refused sizes from the accepted ones; empty if no such limits exist.
std::vector<FoundLimit> limits_of(Line& line, Trials& trials, const May& may) {
  if (line.refused.empty() || line.good.empty()) return {};
  const std::int64_t multiple = multiple_of(line, trials);
  const std::int64_t least = line.good.begin()->first, most = line.good.rbegin()->first;
  std::int64_t rest = 0, above = 0, below = 0;  // refused sizes that show it
  for (const auto& [n, said] : line.refused) {
    const bool whole = n % multiple == 0;
    if (!whole && rest == 0) rest = n;
    if (whole && n > most && above == 0) above = n;
    if (whole && n < least) below = n;
    if (whole && n > least && n < most) return {};  // accepted sizes on both sides do not explain it
  }
  std::vector<FoundLimit> found;
  if (rest > 0 && multiple > 1) {
    if (!may(line.multiple)) return {};
    found.push_back({fmt::format("{}={}", line.multiple, multiple), line.seen(rest)});
  }
  if (below > 0) {
    if (!may(line.least)) return {};
    found.push_back({fmt::format("{}={}", line.least, last_good(line, trials, least, below, multiple)),
                     line.seen(below)});
  }
  if (above > 0) {
    if (!may(line.most)) return {};
    found.push_back(
        {fmt::format("{}={}", line.most, last_good(line, trials, most, above, multiple)), line.seen(above)});
  }
  return found;
}

/// For sizes that are accepted without a rule, and rarely: the sizes from the smallest one up to the first
/// that is refused.
std::vector<FoundLimit> first_few(Line& line, Trials& trials, const May& may) {
  if (line.good.empty() || line.good.size() >= line.refused.size() || !may(line.most)) return {};
  const std::int64_t multiple = divisor_of_good(line), least = line.good.begin()->first;
  if ((multiple > 1 && !may(line.multiple)) || (least > multiple && !may(line.least))) return {};
  std::int64_t most = least;
  while (line.takes(trials, most + multiple)) most += multiple;
  if (!line.refused.contains(most + multiple)) return {};
  std::vector<FoundLimit> found;
  if (multiple > 1)
    found.push_back({fmt::format("{}={}", line.multiple, multiple), line.seen(line.refused.begin()->first)});
  if (least > multiple)
    found.push_back({fmt::format("{}={}", line.least, least), line.seen(line.refused.begin()->first)});
  found.push_back({fmt::format("{}={}", line.most, most), line.seen(most + multiple)});
  return found;
}

/// If no multiple explains the refused lengths: a list of the few lengths that are accepted. If the author
/// declared a multiple, that is a promise, and a list would take it back.
std::vector<FoundLimit> listed_lengths(const Line& line, const May& may) {
  if (!may("V_in") || !may("V_multiple")) return {};
  if (line.refused.empty() || line.good.empty() || line.good.size() > RowLengths::kMost) return {};
  std::vector<std::int64_t> all;
  for (const auto& [n, said] : line.good) all.push_back(n);
  return {{fmt::format("V_in={{{}}}", fmt::join(all, ", ")), line.seen(line.refused.begin()->first)}};
}

/// The first launch of this group that was refused; null if there is none.
const Record* refused_in(const std::vector<Record>& records, const char* group) {
  const auto at = std::ranges::find_if(records, [&](const Record& r) {
    return r.group == group && r.V > 0 && r.rows > 0 && fails(r) && says_no(r);
  });
  return at == records.end() ? nullptr : &*at;
}

/// The row length that most cases of the group `rows` have.
std::int64_t length_of_rows(const std::vector<Record>& records) {
  std::map<std::int64_t, int> count;
  for (const Record& r : records)
    if (r.group == "rows" && r.V > 0 && r.rows > 0) ++count[r.V];
  const auto most = std::max_element(count.begin(), count.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == count.end() ? 0 : most->first;
}

}  // namespace

std::vector<FoundLimit> rows_limits(Trials& trials, const std::vector<Record>& records, const May& may) {
  // The number of rows of a square follows from its length, and has no limit of its own.
  const Record* const big = refused_in(records, "rows") ? nullptr : refused_in(records, "big");
  if (trials.squares() || (!big && !refused_in(records, "rows"))) return {};
  const auto held_at = [&](std::int64_t V, int k) {
    Line line{"rows",
              "rows_multiple",
              "max_rows",
              "min_rows",
              [V, k](std::int64_t n) { return CaseShape{n, V, k}; },
              {},
              {}};
    line.learn(trials, [](const CaseShape& s) { return s.rows; });
    return line;
  };
  const std::int64_t V = length_of_rows(records);
  Line line = held_at(V, trials.usual_k(V));
  const bool known = !line.good.empty();
  if (!known) {
    const std::optional<CaseShape> good = trials.known_good();
    if (!good) return {};
    line = held_at(good->V, good->k);
    line.takes(trials, good->rows);
  }
  // Only `big` has so many, in longer rows.
  if (big && !line.good.empty()) line.takes(trials, std::min(big->rows, kMostElements / line.at(1).V));
  // Rows that are refused at other lengths show no limit on rows.
  if (line.refused.empty() && (known || big)) return {};
  if (line.good.size() < kEnough)
    for (const std::int64_t n :
         {1,   2,   3,   4,   5,   6,   7,   8,   9,    12,   15,   16,   20,   24,  28,  31,
          32,  33,  40,  48,  56,  64,  65,  72,  80,   96,   100,  112,  127,  128, 160, 192,
          256, 257, 320, 384, 512, 600, 768, 960, 1000, 1024, 1025, 2048, 4096, 4097})
      line.takes(trials, n);
  if (auto found = limits_of(line, trials, may); !found.empty()) return found;
  return first_few(line, trials, may);
}

std::vector<FoundLimit> length_limits(Trials& trials, const std::vector<Record>& records, const May& may) {
  const Record* const big = refused_in(records, "shapes") ? nullptr : refused_in(records, "big");
  if (!big && !refused_in(records, "shapes")) return {};
  const auto held_at = [&](std::int64_t rows, const std::function<int(std::int64_t)>& k) {
    Line line{"V",
              "V_multiple",
              "max_V",
              "min_V",
              [&trials, rows, k](std::int64_t n) {
                return trials.launched_as({rows, n, k(n)});
              },
              {},
              {}};
    line.learn(trials, [](const CaseShape& s) { return s.V; });
    return line;
  };
  const auto usual = [&](std::int64_t V) { return trials.usual_k(V); };
  std::int64_t rows = 0;
  for (const auto& [size, known] : trials.known())
    if (known.answer == Answer::taken && size.k == usual(size.V)) {
      rows = size.rows;  // the smallest: they are in order
      break;
    }
  Line line = held_at(rows, usual);
  if (line.good.empty()) {
    const std::optional<CaseShape> good = trials.known_good();
    if (!good) return {};
    const int k = good->k;
    line = k == usual(good->V) ? held_at(good->rows, usual)
                               : held_at(good->rows, [k](std::int64_t) { return k; });
    line.takes(trials, good->V);
  }
  // Only `big` has rows of this length.
  if (big)
    for (const std::int64_t n : {big->V, big->V + 1}) line.takes(trials, n);
  // Smallest first. If a kernel ends its process, the records may show only long rows.
  if (line.good.size() < kEnough)
    for (const std::int64_t n :
         {1,   2,   3,   4,    5,    6,    7,    8,    9,    12,   16,   17,    24,    31,    32,
          33,  40,  48,  64,   65,   80,   96,   128,  129,  160,  192,  256,   257,   320,   384,
          512, 513, 768, 1000, 1024, 1025, 1536, 2048, 4096, 4099, 8192, 16384, 32768, 65536, 131072})
      line.takes(trials, n);
  if (line.refused.size() < 2) return {};  // a limit from a single refusal is a guess
  if (line.good.size() > 1)
    if (auto found = limits_of(line, trials, may); !found.empty()) return found;
  return listed_lengths(line, may);
}

std::vector<FoundLimit> k_limits(Trials& trials, const Variant& variant, const std::vector<Record>& records,
                                 const May& may) {
  if (!selects(variant.op)) return {};
  bool beyond_V = true, good_beyond_V = false;
  const Record* first = nullptr;
  for (const Record& r : records) {
    // A sequence of calls has rows of several lengths, and its record names only one of them.
    if (r.group.empty() || r.group == "races" || r.group == "sanitize" || r.group == "properties" ||
        r.group == "calls" || r.V <= 0 || r.rows <= 0 || r.k <= 0)
      continue;
    good_beyond_V = good_beyond_V || (r.status == Status::pass && r.k > r.V);
    if (!fails(r) || !says_no(r)) continue;
    beyond_V = beyond_V && r.k > r.V;
    if (!first) first = &r;
  }
  if (!first) return {};
  if (beyond_V && !good_beyond_V && may("k_up_to_V"))
    return {
        {"k_up_to_V=yes", fmt::format("k = {} of {} logits {}", first->k, first->V, what_it_said(*first))}};
  if (!may("max_k")) return {};
  std::optional<CaseShape> good = trials.known_good();
  if (!good) return {};
  // Takes a row long enough for every k, if there is one.
  for (const std::int64_t V : {128, 256, 512, 1024, 2048})
    if (good->V < variant.max_k && trials.takes({good->rows, V, good->k})) good->V = V;
  Line line{"k",
            "",
            "max_k",
            "",
            [s = *good](std::int64_t n) { return CaseShape{s.rows, s.V, static_cast<int>(n)}; },
            {},
            {}};
  for (const std::int64_t n : {1,  2,  3,  4,  5,  6,  7,   8,   9,   12,  15,  16,   17,   24,
                               31, 32, 33, 48, 63, 64, 100, 128, 256, 300, 512, 1000, 1024, 2048})
    if (n <= std::min<std::int64_t>(variant.max_k, good->V)) line.takes(trials, n);
  if (line.refused.empty() || !line.good.contains(1)) return {};
  const std::int64_t bad = line.refused.begin()->first;
  const std::int64_t most = last_good(line, trials, std::prev(line.good.lower_bound(bad))->first, bad, 1);
  return {{fmt::format("max_k={}", most), line.seen(bad)}};
}

}  // namespace assay::conformance
