// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

/// Rows fetched from a rig.
class FetchedRows final : public WrittenRows {
 public:
  FetchedRows(Rig& rig, const Problem& whole, const std::vector<std::int64_t>& rows) : problem_(whole) {
    problem_.rows = static_cast<std::int64_t>(rows.size());
    const std::size_t row = value_bytes(), indices = index_bytes();
    values_.resize(rows.size() * row);
    indices_.resize(rows.size() * indices);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rig.fetch(rows[i], row > 0 ? values_.data() + i * row : nullptr,
                indices > 0 ? indices_.data() + i * indices : nullptr);
  }

  const Problem& problem() const override { return problem_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override {
    return load_bits(problem_.out, values_.data(), row * problem_.out_columns() + j);
  }
  bool has_values() const override { return !values_.empty(); }
  bool has_indices() const override { return !indices_.empty(); }
  std::int64_t index(std::int64_t row, std::int64_t r) const override {
    const std::int64_t at = row * problem_.k + r;
    if (problem_.index_bytes() == 8) return reinterpret_cast<const std::int64_t*>(indices_.data())[at];
    return reinterpret_cast<const std::int32_t*>(indices_.data())[at];
  }
  bool has_normalizer() const override { return false; }
  float m(std::int64_t) const override { return 0; }
  float d(std::int64_t) const override { return 0; }

 private:
  std::size_t value_bytes() const {
    return static_cast<std::size_t>(problem_.out_columns()) * size_of(problem_.out);
  }
  std::size_t index_bytes() const {
    return selects(problem_.op) ? static_cast<std::size_t>(problem_.k * problem_.index_bytes()) : 0;
  }

  Problem problem_;
  std::vector<std::byte> values_, indices_;
};

Verification judge_all(Rig& rig) {
  std::int64_t open_rows = 0;
  const FastJudgement j = rig.judge(kSecondLookSeconds, open_rows);
  return verification_of(j, open_rows);
}

Verification sample_judged(const Variant& variant, const Case& c, const Problem& p,
                           const FetchedRows& written) {
  const Record r = judge_written(variant, c, p.op, p.pick(), written);
  Verification v;
  v.max_ulp = r.max_ulp;
  v.max_utilisation = r.max_bound_ratio;
  v.elements = r.rows_judged * p.out_columns();
  v.reason = r.reason;
  if (r.status == Status::pass) {
    v.verdict = Status::pass;
    if (r.rows_judged < p.rows) v.reason = fmt::format("{} of {} rows judged", r.rows_judged, p.rows);
  } else if (r.status == Status::fail) {
    v.verdict = Status::fail;
    for (const CheckResult& check : r.checks)
      if (check.failed > 0 && !check.detail.empty()) {
        v.reason += ": " + check.detail;
        break;
      }
  }
  return v;
}

std::function<Verification()> take_sample(Rig& rig, const Variant& variant, const Problem& p,
                                          SweepInputs& inputs) {
  const std::shared_ptr<const Case> sample = inputs.sample(p.in, p.V, p.rows);
  const Case& c = *sample;
  const std::int64_t distinct = inputs.distinct_rows(p.V, p.rows);
  // Every other row is from the end, where the tile is repeated last: kernels tend to forget rows at a grid's
  // end.
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < c.rows(); ++i)
    rows.push_back(i % 2 == 0 ? i : i + (p.rows - 1 - i) / distinct * distinct);
  const auto written = std::make_shared<const FetchedRows>(rig, p, rows);
  return [&variant, sample, p, written] { return sample_judged(variant, *sample, p, *written); };
}

}  // namespace

Verification verification_of(const FastJudgement& j, std::int64_t open_rows) {
  Verification v;
  v.elements = j.elements;
  if (j.elements > 0) {
    v.max_ulp = static_cast<double>(j.statistics.max_ulp);
    v.max_utilisation = j.statistics.utilisation;
  }
  if (j.failed > 0) {
    v.verdict = Status::fail;
    v.reason = j.first_failure;
  } else if (open_rows > 0) {
    v.reason = fmt::format(
        "{} rows could not be judged within {} s: special ones, or too many elements near their bound",
        open_rows, kSecondLookSeconds);
  } else if (j.elements == 0) {
    v.reason = "no row has a bound to be judged by";
  } else {
    v.verdict = Status::pass;
    if (j.unjudged > 0) v.reason = fmt::format("{} elements of special rows not judged", j.unjudged);
  }
  return v;
}

Judging begin_verification(Rig& rig, const Variant& variant, const Problem& p, SweepInputs& inputs) {
  const bool all = p.op == Op::softmax && p.in == p.out && p.V <= std::int64_t{1} << 25 &&
                   fast_judge_unsupported(variant.claim, p.in, p.out).empty();
  if (all) return {judge_all(rig), {}};
  return {{}, take_sample(rig, variant, p, inputs)};
}

void put_verification(TimedFact& f, const Verification& v) {
  f.verified = v.verdict;
  f.verified_reason = v.reason;
  f.verified_elements = v.elements;
  f.max_ulp = v.max_ulp;
  f.max_utilisation = v.max_utilisation;
}

Verification verify_outputs(Rig& rig, const Variant& variant, const Problem& p, SweepInputs& inputs) {
  return begin_verification(rig, variant, p, inputs).result();
}

Verification combined(const Verification& a, const Verification& b) {
  Verification v = b.verdict == Status::pass ? a : b;
  if (a.verdict == Status::fail) v = a;
  const auto larger = [](std::optional<double> x, std::optional<double> y) {
    return x && y ? std::optional<double>(std::max(*x, *y)) : x ? x : y;
  };
  v.elements = a.elements + b.elements;
  v.max_ulp = larger(a.max_ulp, b.max_ulp);
  v.max_utilisation = larger(a.max_utilisation, b.max_utilisation);
  return v;
}

namespace {

/// Ends the measurement: the record keeps no times, and says what is wrong.
[[noreturn]] void refuse(SweepRecord& r, const SweepRecord& untimed, const Verification& v,
                         const std::string& when) {
  r = untimed;
  put_verification(r, v);
  throw std::runtime_error(when + v.reason);
}
[[noreturn]] void refuse(SweepRecord& r, const SweepRecord& untimed, const std::string& why) {
  refuse(r, untimed, {Status::fail, why, 0, {}, {}}, "");
}

/// Throws SweepUnsupported for what the variant does not do, or the machine has no memory for.
void require_supported(const Variant& v, const Problem& p, const SweepInputs& inputs, std::size_t memory) {
  if (selects(p.op) && p.k > v.max_k)
    throw SweepUnsupported(fmt::format("k = {} exceeds the variant's {}", p.k, v.max_k));
  if (const std::string why = beyond_limits(v, p); !why.empty()) throw SweepUnsupported("domain: " + why);
  if (!applies(inputs.family(), v.dtype, p.V))
    throw SweepUnsupported(fmt::format("family {} has no rows of V = {}", inputs.family().name, p.V));
  if (const std::size_t room = room_for(v, p).all(); room > memory)
    throw SweepUnsupported(fmt::format("needs {:.1f} GB of memory, there are {:.1f}",
                                       static_cast<double>(room) / 1e9, static_cast<double>(memory) / 1e9));
}

/// The verification of the rig's last launch.
Judging checked(Side& side, const Variant& v, const Problem& p, SweepInputs& inputs) {
  Judging j = begin_verification(side.rig(), v, p, inputs);
  if (!side.judges_beside() && !j.now) j = {j.later(), {}};
  if ((!j.now || j.now->verdict != Status::fail) && !side.rig().logits_intact())
    j = {Verification{Status::fail, "the logits were changed", 0, {}, {}}, {}};
  return j;
}

/// Both verifications of a configuration. Without `after`, the same outputs were timed (`once`), or equal
/// ones, and have the verdict of `before`.
struct Both {
  Judging before;
  std::optional<Judging> after;
  bool once = false;
  bool known() const { return before.now && (!after || after->now); }
};

/// Writes the verdict. `untimed` is the record without times.
void conclude(SweepRecord& r, const SweepRecord& untimed, const Both& both) {
  const auto require_right = [&](const Verification& v, const char* when) {
    if (v.verdict == Status::fail) refuse(r, untimed, v, when);
    put_verification(r, v);
  };
  const Verification before = both.before.result();
  require_right(before, "verification: ");
  if (!both.once)
    require_right(combined(before, both.after ? both.after->result() : before),
                  "verification after the timing: ");
}

/// What is drawn for a kernel that runs in a worker: the same for the same seed and configuration.
std::mt19937_64 drawn_for(const SweepRecord& r) {
  std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(r.seed),
                                      static_cast<std::uint32_t>(r.seed >> 32)};
  for (const char c : identity(r)) words.push_back(static_cast<unsigned char>(c));
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64(seed);
}

/// Of the samples whose outputs have other bits than those that were judged, one in so many is judged.
constexpr std::uint64_t kJudgedOneIn = 4;

/// Times a kernel that may know that it is timed. Before each sample its logits and outputs are others; after
/// it, the outputs of one of its launches, which is drawn then, are compared with judged ones, and if they
/// have other bits, some are judged. `judge` throws if they are wrong.
Timing time_watched(Rig& rig, std::mt19937_64& random, const std::function<bool()>& as_judged,
                    const std::function<void()>& judge) {
  return time_runs(
      [&](std::int64_t launches) {
        rig.renew(random());
        const double us = rig.run_us(launches);
        rig.choose(random());
        if (!as_judged() && random() % kJudgedOneIn == 0) judge();
        return us;
      },
      rig.most_launches());
}

void put_ceilings(SweepRecord& r, Ceilings& ceilings) {
  if (const Timing* c = ceilings.copy(r.bytes)) r.copy_us = c->median_us();
  if (const Timing* c = ceilings.read(r.bytes)) r.read_us = c->median_us();
  if (const Timing* c = ceilings.empty()) r.empty_us = c->median_us();
  if (const Timing* c = ceilings.fastest(r.bytes, writes_less(r))) r.fastest_us = c->median_us();
}

}  // namespace

Problem problem_of(const SweepJob& j) {
  return problem_of(j.subject->variant, j.subject->variant.op, j.rows, j.V, j.pick, j.V);
}

std::string too_long() { return "its first launch took " + too_long_words() + ": one sample"; }

void put_rates(SweepRecord& r, const Machine& m) {
  if (!r.median_us || !(*r.median_us > 0)) return;
  const auto bytes = static_cast<double>(r.bytes);
  r.gb_per_s = bytes / *r.median_us / 1e3;
  if (m.datasheet_gb_per_s) r.share_of_datasheet = *r.gb_per_s / *m.datasheet_gb_per_s;
  if (r.copy_us) {
    r.share_of_copy = *r.copy_us / *r.median_us;
    if (const auto dtype = parse_dtype(r.dtype); dtype && r.rows > 0 && r.V > 0) {
      const double copied = bytes / *r.copy_us;
      r.accesses_at_copy_speed =
          *r.median_us * copied /
          (static_cast<double>(r.rows) * static_cast<double>(r.V) * static_cast<double>(size_of(*dtype)));
    }
  }
  if (r.read_us) r.share_of_read = *r.read_us / *r.median_us;
}

namespace {

/// `contradiction`: becomes why the times can not be those of the launches, if so.
Completion measure_once(SweepRecord& r, const SweepJob& j, Side& side, SweepInputs& inputs,
                        SweepSeconds& seconds, std::string& contradiction) {
  Rig& rig = side.rig();
  const Variant& v = j.subject->variant;
  const Problem p = problem_of(j);
  const std::size_t memory = rig.machine().memory_bytes;
  require_supported(v, p, inputs, memory);
  const bool large = room_for(v, p).all() > memory / 2;
  {
    const Spent spent(seconds.inputs);
    rig.prepare(v, p, inputs.tile(v.dtype, p.V, p.rows));
    rig.poison();
  }
  r.cold = rig.cold();
  r.distinct_rows = inputs.distinct_rows(p.V, p.rows);
  std::mt19937_64 random = drawn_for(r);
  if (rig.renews()) {
    // The first launch also loads and compiles. It is made on the stream on which nothing is timed, and
    // judged: a check launches on both kinds.
    const Spent spent(seconds.verification);
    const bool own = random() % 2 == 0;
    rig.use_own_stream(!own);
    rig.run_us(1);
    if (const Verification there = checked(side, v, p, inputs).result(); there.verdict == Status::fail)
      refuse(r, SweepRecord(r), there, "verification: ");
    rig.use_own_stream(own);
    rig.renew(random());
  }
  double first = 0;
  {
    const Spent spent(seconds.timing);
    first = rig.run_us(1);
    // The first launch of a kernel in a process also loads its code, so it is repeated.
    if (side.first_of(r.key) && first > kTimingRules.too_long_us) first = rig.run_us(1);
  }
  Both both;
  both.once = large || first > kTimingRules.too_long_us;
  bool kept = false;
  {
    const Spent spent(seconds.verification);
    both.before = checked(side, v, p, inputs);
    if (both.known()) conclude(r, SweepRecord(r), {both.before, {}, true});
    kept = !both.once && rig.remember();
    if (!both.once) rig.poison();
  }
  const SweepRecord untimed = r;
  Timing t = timed_once(first);  // with a single launch, the judged outputs are those of the timed launch
  if (!both.once) {
    const Spent spent(seconds.timing);
    const auto as_judged = [&] { return kept && rig.as_remembered() && rig.logits_intact(); };
    const auto judge = [&] {
      if (const Verification one = checked(side, v, p, inputs).result(); one.verdict == Status::fail)
        refuse(r, untimed, one, "verification of a timed launch: ");
    };
    t = rig.renews() ? time_watched(rig, random, as_judged, judge) : time_launches(rig);
    r.sm_clock_now_mhz = rig.sm_clock_now_mhz();
  }
  if (!both.once) {
    const Spent spent(seconds.verification);
    if (!kept || !rig.as_remembered() || !rig.logits_intact()) both.after = checked(side, v, p, inputs);
  }
  if (both.known()) conclude(r, untimed, both);
  if (rig.renews()) {
    const Spent spent(seconds.timing);
    contradiction = contradicted_by_clock(rig, t);
  }
  put_timing(r, t);
  r.launches_per_sample = t.launches_per_sample;
  {
    const Spent spent(seconds.ceilings);
    put_ceilings(r, side.ceilings());
  }
  put_rates(r, rig.machine());
  r.status = Status::pass, r.once = t.once;
  if (t.once) r.reason = large ? "its buffers exceed half the memory: one sample" : too_long();
  if (both.known()) return {};
  return [untimed, both](SweepRecord& done) { conclude(done, untimed, both); };
}

}  // namespace

Completion measure(SweepRecord& r, const SweepJob& j, Side& side, SweepInputs& inputs,
                   SweepSeconds& seconds) {
  // The GPU's clock may rise between a measurement and the one that it is held to, and another process may
  // come or go. So it is measured again before the kernel is said to be wrong.
  constexpr int kTries = 3;
  const SweepRecord blank = r;
  std::string why;
  for (int n = 0; n < kTries; ++n) {
    r = blank;
    why.clear();
    Completion left = measure_once(r, j, side, inputs, seconds, why);
    if (why.empty()) why = beyond_reach(r);
    if (why.empty()) return left;
    side.ceilings().forget(r.bytes);
  }
  refuse(r, blank, why);
}

}  // namespace assay
