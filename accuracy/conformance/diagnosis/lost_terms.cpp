// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/diagnosis/lost_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/formats.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

/// Fewer lengths may agree by chance.
constexpr std::size_t kFewestThatAgree = 4;

/// Not one row of so few elements may disagree.
constexpr std::int64_t kShortRows = 16;

/// A number of terms is told if it is known to this part of a term.
constexpr double kPartOfATerm = 0.25;

/// True if the rounded output of a row of V equal logits still tells the number of terms in its sum. A
/// division in f32 is off by 2 ulp at most, so 1/output is off by 4u in all. A logarithm is as large as ln V,
/// and so is the error of its rounding. A sum of ones is exact to far longer rows.
bool tells_of(std::int64_t V, Dtype out, Op op) {
  if (op != Op::softmax && op != Op::log_softmax) return false;
  const auto length = static_cast<double>(V);
  const double u = std::ldexp(1.0, -format(out).precision);
  const double size = op == Op::log_softmax ? std::max(1.0, std::log(length)) : 1;
  return V >= 2 && 4 * u * length * size <= kPartOfATerm;
}

/// True for a plain case of equal logits whose output tells the number of terms in the sum.
bool tells(const Record& r) {
  if (r.family != "constant" || !r.setup.empty() || (r.group != "shapes" && r.group != "families"))
    return false;
  const auto op = parse_op(r.op);
  const std::size_t colon = r.dtype.find(':');
  const auto out = parse_dtype(colon == r.dtype.npos ? r.dtype : r.dtype.substr(colon + 1));
  return out && op && tells_of(r.V, *out, *op);
}

/// The longest rows of which all must agree on the number of terms.
constexpr std::int64_t kLongestThatAgrees = 4096;

/// True if all outputs are as wrong as the worst one, as they are where the sum is wrong. If only some are,
/// they are divided by something else, and the worst one says nothing of the sum. The right outputs of a row
/// of equal logits have the same bits; those of two rows may differ by their last rounding, half an ulp. A
/// term that can be told (`tells_of`) is 8 ulp or more.
bool all_as_wrong(const Record& r) { return r.max_ulp && r.mean_ulp && *r.max_ulp - *r.mean_ulp <= 0.5; }

/// The terms that are missing in the sum of V equal logits; negative if there are too many. Empty if it is no
/// whole number, or if only some outputs tell it.
std::optional<std::int64_t> missing(const Record& r) {
  if (!r.worst || !all_as_wrong(r)) return {};
  const double got = r.worst->got;
  const double d = r.op == name(Op::softmax) ? 1 / got : std::exp(-got);
  const double lost = static_cast<double>(r.V) - d, whole = std::round(lost);
  // Of an output that is far off, every number is a whole one.
  if (!(std::abs(lost - whole) <= kPartOfATerm) || !(std::abs(whole) <= static_cast<double>(r.V))) return {};
  return static_cast<std::int64_t>(whole);
}

/// The number that most rows tell. A row of as few elements as are missing tells nothing:
/// nothing is left of it.
std::int64_t told_by_most(const Cases& all) {
  std::map<std::int64_t, int> votes;
  for (const Record* r : all)
    if (const auto its = missing(*r); its && *its < r->V) ++votes[*its];
  std::int64_t most = 0;
  for (const auto& [lost, n] : votes)
    if (!votes.contains(most) || n > votes[most]) most = lost;
  return most;
}

}  // namespace

std::string cause_of_lost_terms(const Cases& bad, const Cases& good) {
  // A passing case agrees too: in a long row, one term may be within the bound.
  Cases all;
  for (const Cases* cases : {&bad, &good})
    std::copy_if(cases->begin(), cases->end(), std::back_inserter(all),
                 [](const Record* r) { return r->V <= kLongestThatAgrees && tells(*r); });
  const std::int64_t lost = told_by_most(all), n = std::abs(lost);
  if (lost == 0) return {};
  std::erase_if(all, [&](const Record* r) { return r->V <= lost; });
  std::set<std::int64_t> lengths;
  std::size_t agree = 0;
  for (const Record* r : all) {
    if (missing(*r) != lost) {
      // Short rows are computed as they should be: a path for longer ones is wrong.
      if (r->V <= std::max<std::int64_t>(0, lost) + kShortRows) return {};
      continue;
    }
    ++agree;
    if (r->status != Status::pass) lengths.insert(r->V);
  }
  if (lengths.size() < kFewestThatAgree || 10 * agree < 9 * all.size()) return {};
  if (lost > 0)
    return fmt::format(
        "{} left out of the sum of every row, as the last {} may be: the exps of V equal logits add "
        "up to V - {}",
        n == 1 ? "one element is" : fmt::format("{} elements are", n), n == 1 ? "column" : "columns", n);
  return fmt::format(
      "the sum of every row has {} too many, as if {} added twice: the exps of V equal logits add "
      "up to V + {}",
      n == 1 ? "one term" : fmt::format("{} terms", n), n == 1 ? "a column were" : "columns were", n);
}

std::string cause_of_left_out(const Cases& bad) {
  std::set<std::int64_t> lengths, from_start, from_end;
  const Record* first = nullptr;
  for (const Record* r : bad) {
    if (!r->left_out) continue;
    if (!first) first = r;
    lengths.insert(r->V), from_start.insert(*r->left_out), from_end.insert(r->V - *r->left_out);
  }
  const bool one_length = std::ranges::all_of(bad, [&](const Record* r) { return r->V == bad.front()->V; });
  if (first && one_length && from_start.size() == 1)
    return fmt::format(
        "column {} is left out of the sum of rows of V = {}: if its logit alone is raised, the sum does not answer",
        *first->left_out, first->V);
  // One proof says nothing of other lengths.
  if (lengths.size() > 1 && (from_start.size() == 1 || from_end.size() == 1))
    return fmt::format(
        "column {} is left out of the sum: if its logit alone is raised, the sum does not answer",
        from_start.size() == 1 ? std::to_string(*from_start.begin())
                               : fmt::format("V - {}", *from_end.begin()));
  // At one length, one row of equal logits tells the number.
  for (const Record* r : bad) {
    const std::optional<std::int64_t> lost = tells(*r) ? missing(*r) : std::nullopt;
    if (r->V != bad.front()->V || r->V < kShortRows) return {};
    if (lost && *lost > 0 && 2 * *lost < r->V)
      return fmt::format("{} left out of the sum of rows of V = {}: the exps of {} equal logits add up to {}",
                         *lost == 1 ? "one element is" : fmt::format("{} elements are", *lost), r->V, r->V,
                         r->V - *lost);
  }
  return {};
}

std::string cause_of_narrow_sum(const std::vector<Record>& records) {
  for (const Record& r : records)
    for (const ProbeResult& p : r.probes)
      if (p.refuted > 0 && !p.sum.empty() && p.sum != name(Dtype::f32))
        return fmt::format("the sum is kept in {}: {}", p.sum, p.saw);
  return {};
}

namespace {

/// The fewest lengths that a rule must explain: any two lengths have something in common.
constexpr std::size_t kFewestLengths = 3;

/// True if the launcher, or the machine, refused before anything ran.
bool is_refused(const Record& r) {
  const FaultKind cause = cause_of(r);
  return cause == FaultKind::returned_status || cause == FaultKind::threw || cause == FaultKind::bad_launch;
}

/// True if the record does not name the lengths of all its rows: a probe, a property, or a sequence of calls
/// that is refused whatever came before.
bool draws_lengths(const Record& r) {
  return r.family == kProbeFamily || find_check(r, Check::property) ||
         (r.group == "calls" && r.alone != Alone::passes);
}

bool judged(const Record& r) {
  return r.status == Status::pass || r.status == Status::fail || r.status == Status::inconclusive ||
         r.status == Status::crashed || r.status == Status::hung;
}

}  // namespace

std::optional<Finding> refused_lengths(const std::vector<Record>& records) {
  std::set<std::int64_t> refused, taken;
  for (const Record& r : records) {
    // The child process of `races` reports only that it ended.
    if (r.group.empty() || r.group == "races" || !judged(r) || draws_lengths(r)) continue;
    if (r.V == 0 || r.rows == 0) continue;
    (is_refused(r) ? refused : taken).insert(r.V);
  }
  // A rule from two lengths is a guess.
  if (taken.size() < kFewestLengths || refused.size() < kFewestLengths) return {};

  std::int64_t multiple = 0;
  for (const std::int64_t V : taken) multiple = std::gcd(multiple, V);
  const std::int64_t most = *taken.rbegin();
  const auto explained = [&](std::int64_t V) { return V > 0 && (V > most || V % multiple != 0); };
  if (!std::all_of(refused.begin(), refused.end(), explained)) return {};
  const bool by_rest =
      std::any_of(refused.begin(), refused.end(), [&](std::int64_t V) { return V < most && V % multiple; });
  const bool by_length = std::any_of(refused.begin(), refused.end(),
                                     [&](std::int64_t V) { return V > most && V % multiple == 0; });
  if (!by_rest && !by_length) return {};

  Finding f;
  for (const Record& r : records) {
    if (r.group.empty() || r.status != Status::fail) continue;
    const CheckResult* const check = first_failed(r);
    const bool child = r.group == "races" && check && check->check == Check::launch && explained(r.V);
    const bool own = is_refused(r) && draws_lengths(r);
    if ((is_refused(r) && r.rows > 0 && explained(r.V)) || child || own) f.cases.push_back(&r);
  }
  std::stable_sort(f.cases.begin(), f.cases.end(), [](const Record* a, const Record* b) {
    return std::tuple(a->V == 0, a->V, a->rows, a->pick()) < std::tuple(b->V == 0, b->V, b->rows, b->pick());
  });
  f.first = f.cases.front();
  f.group = f.first->group;
  f.checks = "launch";
  f.status = Status::fail;
  f.failed_checks = {Check::launch};
  f.exact = true;
  f.detail = first_failed(*f.first)->detail;
  std::map<std::string, std::int64_t> groups;
  for (const Record* r : f.cases) ++groups[r->group];
  for (const Record& r : records) f.of += r.group == f.group && judged(r);
  for (const auto& [group, n] : groups)
    if (group == f.group)
      f.failed = n;
    else
      f.also.push_back(fmt::format("{} ({})", group, n));
  const std::string rest = fmt::format("every V that is no multiple of {}", multiple),
                    length = fmt::format("every V above {}", most);
  const std::string words = by_rest && by_length ? rest + ", and " + length : by_rest ? rest : length;
  f.where = fmt::format("{} (first: V = {})", words, f.first->V);
  f.likely = fmt::format("the launcher refuses {}: declare {}{}{}", words,
                         by_rest ? fmt::format("V_multiple={}", multiple) : "",
                         by_rest && by_length ? "; " : "", by_length ? fmt::format("max_V={}", most) : "");
  return f;
}

}  // namespace assay::conformance
