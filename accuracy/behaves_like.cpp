#include "accuracy/behaves_like.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>

#include "accuracy/checker.hpp"
#include "accuracy/judgement.hpp"
#include "accuracy/probes.hpp"

namespace assay {
namespace {

/// Traits in the order a class is told.
constexpr const char* kOrder[] = {"order",       "shift",  "numerator_exp", "sum_exp",   "division",
                                  "accumulator", "height", "numerators",    "selection", "repeats"};

/// One step away from a claim, looser or merely different.
struct Step {
  const char* what;
  void (*apply)(Claim&);
};
std::int64_t serial(std::int64_t V) { return V; }
constexpr std::array<Step, 12> kSteps = {{
    {"exp exp2_fma", [](Claim& c) { c.exp = Exp::exp2_fma; }},
    {"exp fast", [](Claim& c) { c.exp = Exp::fast; }},
    {"division reciprocal", [](Claim& c) { c.division = Division::reciprocal; }},
    {"division approximate", [](Claim& c) { c.division = Division::approximate; }},
    {"a serial sum", [](Claim& c) { c.height = serial; }},
    {"algorithm online", [](Claim& c) { c.algorithm = Algorithm::online; }},
    {"algorithm safe", [](Claim& c) { c.algorithm = Algorithm::safe, c.shift = Shift::subtract; }},
    {"log_form absorb", [](Claim& c) { c.log_form = LogForm::absorb; }},
    {"numerators kept", [](Claim& c) { c.normalise = Normalise::kept; }},
    {"no shift", [](Claim& c) { c.algorithm = Algorithm::naive, c.shift = Shift::none; }},
    {"internals f16", [](Claim& c) { c.internals = Internals::f16, c.exp = Exp::half; }},
    {"internals bf16", [](Claim& c) { c.internals = Internals::bf16, c.exp = Exp::half; }},
}};

bool passes(Variant v, const Claim& claim, const Case& c, Op op, const GuardedLaunch& run) {
  v.claim = claim;
  Judgement j(v, c, op, nullptr);
  j.judge_rows(run, true);
  const ErrorStatistics& s = j.statistics;
  const bool judges = s.visible == 0 || s.visible > s.visible_weak;
  return j.tally.failed() == 0 && j.tally.undecided() == 0 && j.rows_judged > 0 && judges;
}

}  // namespace

Behaviour behaviour_of(const Variant& variant) {
  Behaviour b;
  b.claim.name = name(Check::claim);
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
    if (o.sharper) b.sharper.push_back(o.trait);
    if (!o.fault.empty() && b.fault.empty()) b.fault = o.fault;
    b.claim.judged += o.judged;
    b.claim.failed += o.refuted;
    if (o.refuted && b.claim.detail.empty()) b.claim.detail = o.probe + ": " + o.proof;
  }
  return b;
}

std::string claimed_class(const Variant& v) {
  const Claim& c = v.claim;
  std::string s;
  const bool logs = v.op == Op::lse || v.op == Op::log_softmax;
  if (v.op != Op::topk) {
    s = fmt::format("{}, shift {}, exp {}, division {}, sum {}", name(c.algorithm),
                    c.shift == Shift::none ? "none" : "subtract", name(c.exp), name(c.division),
                    name(c.internals));
    if (c.height) s += fmt::format(", height {} at V = 16385", c.height(16385));
    if (c.rescale_threshold > 0) s += fmt::format(", rescales put off by {:.3g} nats", c.rescale_threshold);
    if (!logs) s += c.normalise == Normalise::kept ? ", numerators kept" : ", numerators recomputed";
    if (v.op == Op::log_softmax) s += fmt::format(", log form {}", name(c.log_form));
  }
  if (selects(v.op))
    s += fmt::format("{}selects {}, ties {}", s.empty() ? "" : ", ",
                     c.select == Select::probs ? "probabilities" : "logits", name(c.ties));
  return s + fmt::format(", {}", name(c.determinism));
}

Record probe_record(const Variant& variant, const Behaviour& b) {
  Record r = blank_record(variant, kProbeFamily, variant.op, kProbeV, 1, 0, 1);
  r.reproduce = fmt::format("assay report --key {} --family {}", r.key, kProbeFamily);
  r.behaves_like = b.like;
  r.evidence = b.evidence;
  if (!b.fault.empty()) r.checks.push_back({name(Check::launch), 1, 1, 0, 0, b.fault});
  if (b.claim.judged) r.checks.push_back(b.claim);
  r.rows_judged = 1;
  if (!b.fault.empty() || b.claim.failed) {
    r.status = Status::fail;
    r.reason = std::string("failed: ") + (b.fault.empty() ? name(Check::claim) : name(Check::launch));
  } else if (b.claim.judged == 0) {
    r.status = Status::unsupported;
    r.reason = "probe: nothing of this claim can be probed";
  } else {
    r.status = Status::pass;
  }
  return r;
}

std::string nearest_class(const Variant& variant, const Case& c, Op op, const GuardedLaunch& run) {
  if (passes(variant, variant.claim, c, op, run)) return "its claim, but for what is not arithmetic";
  for (int changes = 1; changes <= 3; ++changes)
    for (unsigned set = 1; set < 1u << kSteps.size(); ++set) {
      if (std::popcount(set) != changes) continue;
      Claim claim = variant.claim;
      std::vector<std::string> words;
      for (std::size_t i = 0; i < kSteps.size(); ++i)
        if (set >> i & 1) {
          kSteps[i].apply(claim);
          words.push_back(kSteps[i].what);
        }
      if (passes(variant, claim, c, op, run)) return fmt::format("its claim with {}", fmt::join(words, ", "));
    }
  return "no class near its claim";
}

}  // namespace assay
