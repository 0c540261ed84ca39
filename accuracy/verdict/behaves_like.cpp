// SPDX-License-Identifier: Apache-2.0
#include "accuracy/verdict/behaves_like.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <set>

#include "accuracy/case/job.hpp"
#include "accuracy/probes/probes.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/judgement.hpp"
#include "kernels/declaration.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

/// The traits, in the order in which a class lists them.
constexpr const char* kOrder[] = {"order",       "shift",  "numerator_exp", "sum_exp",   "division",
                                  "accumulator", "height", "numerators",    "selection", "repeats"};

/// One change of a claim by a declared word, to a looser or just a different claim.
enum class Of { arithmetic, policy, order };
struct Step {
  Of of;
  const char* words;  // kernels/declaration.hpp
  void (*apply)(Claim&);
};
std::int64_t serial(std::int64_t V) { return V; }
constexpr std::array<Step, 24> kSteps = {{
    {Of::arithmetic, "exp=exp2_fma", [](Claim& c) { c.exp = Exp::exp2_fma; }},
    {Of::arithmetic, "exp=fast", [](Claim& c) { c.exp = Exp::fast; }},
    {Of::arithmetic, "division=reciprocal", [](Claim& c) { c.division = Division::reciprocal; }},
    {Of::arithmetic, "division=approximate", [](Claim& c) { c.division = Division::approximate; }},
    {Of::arithmetic, "height=V", [](Claim& c) { c.height = serial, c.any_height = false; }},
    {Of::arithmetic, "ftz=yes", [](Claim& c) { c.ftz = true; }},
    {Of::arithmetic, "shift=any", [](Claim& c) { c.shift = Shift::any; }},
    {Of::arithmetic, "algorithm=online", [](Claim& c) { c.algorithm = Algorithm::online; }},
    {Of::arithmetic, "algorithm=safe",
     [](Claim& c) { c.algorithm = Algorithm::safe, c.shift = Shift::subtract; }},
    {Of::arithmetic, "log_form=absorb", [](Claim& c) { c.log_form = LogForm::absorb; }},
    {Of::arithmetic, "normalise=kept", [](Claim& c) { c.normalise = Normalise::kept; }},
    {Of::arithmetic, "numerators=output",
     [](Claim& c) { c.numerators = Numerators::output, c.normalise = Normalise::recomputed; }},
    {Of::arithmetic, "algorithm=naive",
     [](Claim& c) {
       c.algorithm = Algorithm::naive, c.shift = Shift::none, c.normalise = Normalise::recomputed;
     }},
    {Of::arithmetic, "internals=f16; exp=half",
     [](Claim& c) { c.internals = Internals::f16, c.exp = Exp::half; }},
    {Of::arithmetic, "internals=bf16; exp=half",
     [](Claim& c) { c.internals = Internals::bf16, c.exp = Exp::half; }},
    {Of::policy, "all_neg_inf=zero", [](Claim& c) { c.policy.all_neg_inf = NegInfRows::zero; }},
    {Of::policy, "all_neg_inf=nan", [](Claim& c) { c.policy.all_neg_inf = NegInfRows::nan; }},
    {Of::policy, "pos_inf=inf_only", [](Claim& c) { c.policy.pos_inf = PosInfRows::inf_only; }},
    {Of::policy, "pos_inf=nan", [](Claim& c) { c.policy.pos_inf = PosInfRows::nan; }},
    {Of::order, "ties=unspecified", [](Claim& c) { c.ties = Ties::unspecified; }},
    {Of::order, "order=any", [](Claim& c) { c.order = SlotOrder::any; }},
    {Of::order, "nan_order=any", [](Claim& c) { c.policy.nan_order = NanOrder::any; }},
    {Of::order, "nan_order=ignored", [](Claim& c) { c.policy.nan_order = NanOrder::ignored; }},
    {Of::order, "select=probs", [](Claim& c) { c.select = Select::probs; }},
}};

/// False for pairs of terms that no class has: their sum would have no bound, or a meaningless one.
bool possible(const Claim& c) {
  const bool narrow = c.internals != Internals::f32;
  if (narrow && (c.exp == Exp::fast || c.exp == Exp::exp2_fma)) return false;
  if (c.exp == Exp::exp2_fma && c.shift != Shift::subtract) return false;
  if (c.numerators == Numerators::output &&
      (c.normalise == Normalise::kept || c.algorithm == Algorithm::naive || c.rescale_threshold > 0))
    return false;
  return (c.algorithm == Algorithm::naive) == (c.shift == Shift::none);
}

/// The steps that could matter: they change the variant's claim, in a respect that the case tests.
std::vector<const Step*> steps_for(const Variant& v, const Case& c, Op op) {
  bool ordinary = false, special = false;
  for (std::int64_t r = 0; r < c.rows(); ++r) {
    const RowKind kind = c.truth(r).kind;
    (kind == RowKind::finite || kind == RowKind::masked ? ordinary : special) = true;
  }
  Variant before = v;
  std::vector<const Step*> out;
  for (const Step& s : kSteps) {
    if (s.of == Of::arithmetic ? !ordinary || op == Op::topk : s.of == Of::policy ? !special : !selects(op))
      continue;
    Variant after = v;
    s.apply(after.claim);
    if (after.claim.numerators != v.claim.numerators &&
        (op != Op::softmax || !terms_of(after.claim, v.backend, v.out(), c.V()).stored))
      continue;
    const bool height = std::string_view(s.words) == "height=V" && v.claim.height &&
                        (v.claim.any_height || v.claim.height(c.V()) != serial(c.V()));
    if (height || declaration_of(after) != declaration_of(before)) out.push_back(&s);
  }
  // If outputs may be kept, the two bounds are nearly the same, and `fast` needs no domain. So `fast` comes
  // first.
  const auto exp2 = std::find_if(out.begin(), out.end(), [](const Step* s) { return s == kSteps.data(); });
  if (v.claim.normalise == Normalise::kept && exp2 != out.end() && exp2 + 1 != out.end() &&
      exp2[1] == kSteps.data() + 1)
    std::swap(exp2[0], exp2[1]);
  return out;
}

/// passes: passed, and something was judged;
/// weak: passed under a bound that means nothing;
/// outside: not judged, because all rows, or one of the rows to be explained (`wrong`), are outside the
///          class's domain.
enum class Fit { none, passes, weak, outside };
/// `rows` is the order in which the rows are judged. A row that a claim does not explain comes first for the
/// next claim: most claims fail at the same row, and then no other row is judged. With `only_passes`, a claim
/// whose bound turns out to mean nothing is not judged to its end either.
Fit fit(Variant v, const Claim& claim, const Case& c, Op op, const WrittenRows& run,
        const std::set<std::int64_t>& wrong, std::vector<std::int64_t>& rows, bool only_passes = false) {
  v.claim = claim;
  Judgement j(v, c, op, nullptr);
  const auto fails = [&] { return j.tally.failed() > 0 || j.tally.undecided() > 0; };
  const auto weak = [&] { return j.tally.unbounded() > 0 || j.statistics.resolution.over_limit() > 1; };
  const std::int64_t last = j.judge_until(run, rows, [&] { return fails() || (only_passes && weak()); });
  if (last >= 0) {
    const auto at = std::find(rows.begin(), rows.end(), last);
    std::rotate(rows.begin(), at, at + 1);
    return fails() || !(j.statistics.resolution.of_element() < 1) ? Fit::none : Fit::weak;
  }
  if (std::any_of(wrong.begin(), wrong.end(),
                  [&](std::int64_t row) { return j.unjudged_rows.contains(row); }))
    return Fit::outside;
  // A bound that allows twice the right output, or a logarithm that is off by 1, explains none.
  if (weak()) return j.statistics.resolution.of_element() < 1 ? Fit::weak : Fit::none;
  return j.rows_judged > 0 ? Fit::passes : Fit::outside;
}

}  // namespace

Behaviour behaviour_of(const Variant& variant) {
  Behaviour b;
  b.claim.check = Check::claim;
  const std::vector<Observation> seen = run_probes(variant);
  std::vector<std::string> traits;
  for (const char* probe : kOrder)
    for (const Observation& o : seen)
      if (o.probe == probe && !o.trait.empty()) traits.push_back(o.trait);
  b.like = fmt::format("{}", fmt::join(traits, ", "));
  for (const Observation& o : seen) {
    std::string text = o.probe + ": ";
    if (!o.trait.empty()) text += o.trait + (o.sharper ? ", sharper than claimed; " : "; ");
    text += o.saw;
    if (!o.skipped.empty()) text += (o.saw.empty() ? "not judged: " : "; not judged: ") + o.skipped;
    if (!o.fault.empty()) text += "launch failed: " + o.fault;
    if (o.refuted)
      text += fmt::format("; the claim is refuted {} times of {}: {}", o.refuted, o.judged, o.proof);
    b.evidence.push_back(std::move(text));
    b.probes.push_back({o.probe, o.trait, o.sharper, o.refuted, o.sum ? name(*o.sum) : "", o.saw});
    if (!o.fault.empty() && b.fault.empty())
      b.fault = o.fault, b.ended = o.ended, b.fault_kind = o.fault_kind;
    b.claim.judged += o.judged;
    b.claim.failed += o.refuted;
    if (o.refuted && b.claim.detail.empty()) b.claim.detail = o.probe + ": " + o.proof;
  }
  return b;
}

std::string claimed_class(const Variant& v) {
  const Claim& c = v.claim;
  std::string s;
  const bool logs = logarithms(v.op);
  if (v.op == Op::softmax_backward) {
    s = fmt::format("sum {}", name(c.internals));
    if (c.height) s += fmt::format(", height {} at V = 16385", c.height(16385));
  } else if (v.op != Op::topk) {
    s = fmt::format("{}, shift {}, exp {}, division {}, sum {}", name(c.algorithm), name(c.shift),
                    name(c.exp), name(c.division), name(c.internals));
    if (c.height) s += fmt::format(", height {} at V = 16385", c.height(16385));
    if (c.rescale_threshold > 0) s += fmt::format(", rescales put off by {:.3g} nats", c.rescale_threshold);
    if (c.epsilon > 0) s += fmt::format(", epsilon {:g}", c.epsilon);
    if (c.numerators == Numerators::output) s += ", numerators stored as the outputs are";
    if (!logs) s += c.normalise == Normalise::kept ? ", numerators kept" : ", numerators recomputed";
    if (log_probabilities(v.op)) s += fmt::format(", log form {}", name(c.log_form));
  }
  if (selects(v.op))
    s += fmt::format("{}selects {}, ties {}{}", s.empty() ? "" : ", ",
                     c.select == Select::probs ? "probabilities" : "logits", name(c.ties),
                     c.order == SlotOrder::any ? ", slots in any order" : "");
  if (c.causal != Causal::no) s += fmt::format(", causal {}", name(c.causal));
  return s + fmt::format(", {}", name(c.determinism));
}

Record blank_probe(const Variant& variant) {
  Record r = blank_record(variant, kProbeFamily, variant.op, shape_of(1, kProbeV, {}), 1);
  Repeat again;
  again.words = "report --key " + shell_quoted(r.key);
  again.family = kProbeFamily;
  r.reproduce = reproduce(again);
  return r;
}

Record probe_record(const Variant& variant, const Behaviour& b) {
  Record r = blank_probe(variant);
  r.behaves_like = b.like;
  r.evidence = b.evidence;
  r.probes = b.probes;
  if (!b.fault.empty() && b.ended != Ended::lost)
    r.checks.push_back({Check::launch, 1, 1, 0, 0, b.fault, b.fault_kind});
  if (b.claim.judged) r.checks.push_back(b.claim);
  r.rows_judged = 1;
  Grounds g;
  g.ended = b.ended;
  g.fault = b.fault;
  g.kind = b.fault_kind;
  if (b.claim.judged == 0) g.nothing_judged = obstacle(Why::probe, "nothing of this claim can be probed");
  decide(r, g);
  return r;
}

NearestClass nearest_class(const Variant& variant, const Case& c, Op op, const WrittenRows& run) {
  Judgement own(variant, c, op, nullptr);
  own.judge_rows(run, true);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(run.problem().rows));
  std::iota(rows.begin(), rows.end(), 0);
  if (fit(variant, variant.claim, c, op, run, {}, rows) == Fit::passes)
    return {"its claim, except for what is not arithmetic", Nearest::its_own};
  const std::vector<const Step*> steps = steps_for(variant, c, op);
  // Every set of changes judges all rows again, so fewer changes are tried for long cases.
  const std::int64_t elements = c.rows() * c.V();
  std::string weak;
  bool far = false;  // beyond any error of exp2 of a rounded product
  const int most = elements <= 1 << 12 ? 3 : elements <= 1 << 15 ? 2 : 1;
  for (int changes = 1; changes <= most; ++changes)
    for (unsigned set = 1; set < 1u << steps.size(); ++set) {
      if (std::popcount(set) != changes) continue;
      Claim claim = variant.claim;
      std::vector<const char*> words;
      for (std::size_t i = 0; i < steps.size(); ++i)
        if (set >> i & 1) {
          steps[i]->apply(claim);
          words.push_back(steps[i]->words);
        }
      if (!possible(claim)) continue;
      const Fit f = fit(variant, claim, c, op, run, own.wrong_rows, rows, changes > 1 && !weak.empty());
      if (f == Fit::passes)
        return {fmt::format("would pass with {}", fmt::join(words, "; ")), Nearest::other_class};
      if (f == Fit::weak && weak.empty())
        weak = fmt::format("within the bound of {}, which is too coarse for a pass", fmt::join(words, "; "));
      if (f == Fit::outside && changes == 1 && claim.exp == Exp::exp2_fma) far = true;
    }
  if (far) return {"outside its domain with exp=exp2_fma", Nearest::none};
  return {weak.empty() ? "no class near its claim" : weak, Nearest::none};
}

}  // namespace assay
