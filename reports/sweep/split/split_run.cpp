// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "accuracy/case/job.hpp"
#include "kernels/device.hpp"
#include "kernels/split/nccl.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/build_info.hpp"
#include "reports/sweep/measurement.hpp"
#include "reports/sweep/split/split_rig.hpp"
#include "reports/sweep/subjects.hpp"
#include "reports/sweep/timing.hpp"

namespace assay {
namespace {

std::string key_alone(const SplitShape& s) {
  return fmt::format("{}/{}@cuda", s.fast ? "onepass_fast" : "onepass", name(s.dtype));
}

#if defined(ASSAY_WITH_CUDA)

/// What one GPU takes for the rows of its slice, with nobody else; and its copy.
struct OneGpu {
  std::optional<double> us, copy_us;
  Machine machine;
};

OneGpu time_alone(const SplitShape& shape, int device, Span slice, SweepInputs& inputs) {
  if (const std::string why = select_device(device); !why.empty()) throw std::runtime_error(why);
  const auto rig = make_device_rig();
  OneGpu a{{}, {}, rig->machine()};
  if (slice.count == 0) return a;
  const Variant& v = find_subject(key_alone(shape))->variant;
  const Problem p = problem_of(v, v.op, shape.rows, slice.count, 0, slice.count);
  rig->prepare(v, p, inputs.tile(v.dtype, p.V, p.rows));
  rig->poison();
  const Timing t = time_launches(*rig);
  const Verification right = verify_outputs(*rig, v, p, inputs);
  if (right.verdict == Status::fail) throw std::runtime_error(v.key() + " alone: " + right.reason);
  a.us = t.median_us();
  Ceilings ceilings(*rig);
  if (const Timing* copy = ceilings.copy(compulsory_bytes(p))) a.copy_us = copy->median_us();
  return a;
}

Verification judged(SplitRig& rig) {
  std::int64_t open_rows = 0;
  const FastJudgement j = rig.judge(kSecondLookSeconds, open_rows);
  Verification v = verification_of(j, open_rows);
  if (v.verdict != Status::fail && !rig.logits_intact())
    v = {Status::fail, "the logits were changed", 0, {}, {}};
  return v;
}

/// Times of each GPU, one for each sample of the slowest.
using Times = std::vector<std::vector<double>>;

void put_shares(SplitRecord& r, const Times& times) {
  for (std::size_t i = 0; i < r.shares.size(); ++i) {
    SplitShare& s = r.shares[i];
    Timing own;
    for (std::size_t n = times.size() - static_cast<std::size_t>(r.samples); n < times.size(); ++n)
      own.times_us.push_back(times[n][i]);
    s.median_us = own.median_us();
    if (s.alone_us) s.share_of_alone = *s.alone_us / *s.median_us;
    if (s.copy_us) s.share_of_copy = *s.copy_us / *s.median_us;
  }
}

/// Verifies, times, and verifies again.
void measure_split(SplitRecord& r, const SplitWays& ways, SplitRig& rig) {
  rig.choose(ways);
  r.cold = rig.cold();
  rig.poison();
  rig.run_us();
  const Verification before = judged(rig);
  put_verification(r, before);
  if (before.verdict == Status::fail) throw std::runtime_error("verification: " + before.reason);
  rig.poison();
  Times times;
  const Timing t = time_runs(
      [&](std::int64_t) {
        times.push_back(rig.run_us());
        return *std::max_element(times.back().begin(), times.back().end());
      },
      1);
  const Verification both = combined(before, judged(rig));
  put_verification(r, both);
  if (both.verdict == Status::fail) throw std::runtime_error("verification after the timing: " + both.reason);
  put_timing(r, t);
  put_shares(r, times);
  r.status = Status::pass, r.once = t.once;
}

#endif

}  // namespace

SplitRecord blank_split_record(const SplitRun& run, const SplitWays& ways) {
  const SplitShape& s = run.shape;
  SplitRecord r;
  r.key = fmt::format("{}/{}@cuda", s.fast ? "onepass_split_fast" : "onepass_split", name(s.dtype));
  r.alone_key = key_alone(s);
  r.dtype = name(s.dtype);
  r.gpus = s.gpus;
  r.rows = s.rows;
  r.V = s.V;
  r.exchange = name(ways.exchange);
  r.chunk_rows = ways.chunk_rows;
  r.depth = ways.depth;
  r.teams = ways.teams;
  r.graph = ways.graph;
  r.keep = ways.keep;
  r.family = run.family;
  r.seed = run.seed;
  r.reproduce = fmt::format(
      "assay sweep split --gpus {} --V {} --rows {} --dtype {} --exchange {} --chunk-rows {} --depth {} --teams {}{}{}{} --family {} "
      "--seed {}",
      r.gpus, r.V, r.rows, r.dtype, r.exchange, r.chunk_rows, r.depth, r.teams, r.graph ? "" : " --queued",
      r.keep ? "" : " --not-kept", s.fast ? "" : " --accurate", shell_quoted(r.family), r.seed);
  return r;
}

#if defined(ASSAY_WITH_CUDA)

std::vector<SplitRecord> run_split(const SplitRun& run, const std::function<void(const SplitRecord&)>& done) {
  const SplitShape& shape = run.shape;
  SweepInputs inputs(run.family, run.seed);
  if (!applies(inputs.family(), shape.dtype, shape.V))
    throw InputError(fmt::format("--family {}: has no rows of V = {}", run.family, shape.V));
  std::vector<OneGpu> alone;
  for (const Span slice : column_slices(shape.V, shape.gpus))
    alone.push_back(time_alone(shape, static_cast<int>(alone.size()), slice, inputs));
  SplitRig rig(shape, inputs.tile(shape.dtype, shape.V, shape.rows));
  std::vector<SplitRecord> all;
  for (SplitWays ways : run.ways) {
    ways = rig.settled(ways);
    SplitRecord r = blank_split_record(run, ways);
    const Machine& m = alone.front().machine;
    put_machine(r, m);
    if (ways.exchange == Exchange::nccl) r.nccl = nccl_version();
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const Span s = rig.slices()[i];
      r.shares.push_back({static_cast<int>(i), s.first, s.count, {}, alone[i].us, alone[i].copy_us, {}, {}});
    }
    try {
      measure_split(r, ways, rig);
    } catch (const std::exception& e) {
      r.status = Status::fail;
      r.reason = e.what();
    }
    done(r);
    all.push_back(std::move(r));
  }
  return all;
}

#else

std::vector<SplitRecord> run_split(const SplitRun&, const std::function<void(const SplitRecord&)>&) {
  throw std::runtime_error(unavailable_reason(Backend::cuda));
}

#endif

}  // namespace assay
