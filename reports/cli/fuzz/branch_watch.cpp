// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/fuzz/branch_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "fuzz/trial.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/data/say.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kMagic = 0x62726e63, kFloat = 16;
constexpr const char* kReport = "assay_branches";
constexpr std::int64_t kWords = 4 + 3 * 512;

}  // namespace

std::vector<double> as_logits(std::uint64_t bits, std::uint32_t size, Dtype dtype) {
  std::vector<double> all;
  const auto take = [&](double x) {
    if (std::isfinite(x) && std::ranges::find(all, x) == all.end()) all.push_back(x);
  };
  const std::size_t wide = size_of(dtype);
  const bool fits = wide == 8 || bits >> (8 * wide) == 0;
  if (size == kFloat + 4)
    take(round_to(dtype, static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))));
  if (size == kFloat + 8) take(round_to(dtype, std::bit_cast<double>(bits)));
  if (size < kFloat && size >= wide && fits) {
    take(decode(dtype, bits));
    // Small whole numbers are counts; as bits they are subnormal, as values they are logits too.
    if (bits < 1 << 16) take(round_to(dtype, static_cast<double>(bits)));
  }
  return all;
}

BranchWatch::BranchWatch(Variant kernel, Variant report, Op op)
    : kernel_(std::move(kernel)), report_(std::move(report)), op_(op) {}

std::unique_ptr<BranchWatch> BranchWatch::of(const Target& target, Op op, double timeout_seconds) {
  const Variant& v = target.variant;
  const std::optional<OneFile> file = source_of(v);
  if (v.backend != Backend::plugin || !file || !file->host) return nullptr;
  try {
    std::vector<Variant> all = load_plugin(compile_watched(*file).path, {.timeout_seconds = timeout_seconds});
    const auto named = [&](const std::string& name, Dtype dtype, Op of) {
      return std::ranges::find_if(
          all, [&](const Variant& one) { return one.variant == name && one.dtype == dtype && one.op == of; });
    };
    const auto kernel = named(v.variant, v.dtype, v.op), report = named(kReport, Dtype::f32, Op::softmax);
    if (kernel == all.end() || report == all.end()) return nullptr;
    return std::unique_ptr<BranchWatch>(new BranchWatch(*kernel, *report, op));
  } catch (const InputError& e) {
    say("{}: its branches are not watched: {}\n", v.key(), e.what());
    return nullptr;
  }
}

void BranchWatch::run(const std::vector<fuzz::Genome>& inputs) {
  for (const fuzz::Genome& g : inputs) {
    const fuzz::Trial trial = fuzz::trial_of(g, kernel_, op_);
    const Tensor& x = trial.logits;
    Layout layout = plain_layout();
    layout.in_gap = layout.out_gap = trial.pitch_gap;
    layout.offset = trial.first;
    GuardedLaunch launch(kernel_, problem_of(kernel_, op_, x.rows, x.V, trial.pick, x.V), x, layout);
    // A new worker has seen nothing of what the one before has.
    const LaunchOutcome outcome = launch.run();
    if (outcome.ended == Ended::hung || outcome.ended == Ended::crashed) return;
  }
}

BranchWatch::Seen BranchWatch::seen() const {
  Seen seen;
  const Tensor none(Dtype::f32, 1, kWords);
  GuardedLaunch launch(report_, problem_of(report_, Op::softmax, 1, kWords, 0, kWords), none, plain_layout());
  if (!launch.run().ok()) return seen;
  const auto word = [&](std::int64_t i) { return static_cast<std::uint32_t>(launch.value_bits(0, i)); };
  if (word(0) != kMagic) return seen;
  seen.reached = word(1);
  seen.all = std::max<std::int64_t>(word(1), word(2));
  const std::int64_t n = std::min<std::int64_t>(word(3), (kWords - 4) / 3);
  std::set<double> logits;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = word(5 + 3 * i) | static_cast<std::uint64_t>(word(6 + 3 * i)) << 32;
    for (const double x : as_logits(bits, word(4 + 3 * i), kernel_.dtype)) logits.insert(x);
  }
  seen.logits.assign(logits.begin(), logits.end());
  return seen;
}

}  // namespace assay
