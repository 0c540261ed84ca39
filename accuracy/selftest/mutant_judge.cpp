// SPDX-License-Identifier: Apache-2.0
#include "accuracy/selftest/mutant_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/record.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

// Entries whose fault shows in no single case. They run in a worker process, through the group of `assay
// check` that the entry names.

/// The records of the group. Empty if the group cannot run here; then `reason` says why.
std::vector<Record> run_group(const Mutant& m, std::string& reason) {
  const Expect& e = m.expect;
  const auto all = conformance::groups();
  if (std::none_of(all.begin(), all.end(),
                   [&](const conformance::Group& g) { return g.name == std::string_view(e.group); })) {
    reason = std::string("no group ") + e.group;
    return {};
  }
  conformance::ConformanceOptions options;
  options.only = {e.group};
  options.extent = conformance::Extent::quick;
  options.narrow.setup = e.setup;
  if (e.rows > 0) options.narrow.rows = e.rows, options.narrow.V = e.V;
  options.threads = 1;
  try {
    // A machine that runs every entry at once is slow. Other entries test whether a hang is found.
    IsolationOptions patient;
    patient.timeout_seconds = 120;
    return conformance::run_conformance([&] { return isolated(m.variant, patient); }, options).records;
  } catch (const InputError& error) {
    reason = error.what();
    return {};
  }
}

void take(MutantVerdict& v, const Record& r) {
  if (r.status == Status::not_run || r.status == Status::unsupported) {
    if (!v.ran) v.detail = r.reason;
    return;
  }
  if (!v.ran) v.detail.clear();
  v.ran = true;
  ++v.cases;
  if (r.status == Status::pass) return;
  const bool first = !v.refused;
  v.refused = true;
  bool named = false;
  std::string detail = r.reason;
  for (const CheckResult& c : r.checks) {
    if (c.failed == 0) continue;
    const std::string check = name(c.check);
    const bool is_named = check == v.mutant->expect.check;
    if (detail == r.reason || is_named) detail = check + ": " + c.detail;
    if (std::find(v.failed.begin(), v.failed.end(), check) != v.failed.end()) continue;
    named = named || is_named;
    v.failed.push_back(check);
  }
  // No check failed, and nothing was proved; it is no pass either.
  if (r.nearest == Nearest::beyond_measured && v.failed.empty()) v.failed.emplace_back(kBeyondMeasured);
  if (first || named) {
    v.detail = r.family + ", V = " + std::to_string(r.V) + ": " + detail;
    v.reproduce = r.reproduce;
  }
}

void judge_right(MutantVerdict& v, const Variant& variant, MutantInputs& inputs) {
  for (const Family& family : families())
    for (const std::int64_t V : inputs.sizes_of_right_kernels()) {
      if (!applies(family, variant.dtype, V)) continue;
      const std::int64_t rows = std::max<std::int64_t>(3, report_rows(family, variant.dtype, V, false));
      Pick pick = v.mutant->expect.pick;
      pick.k = std::min(pick.k, std::max(1, variant.max_k));
      take(v, check_case(variant, inputs.of(family.name, variant.dtype, V, rows), variant.op, pick));
    }
}

}  // namespace

bool MutantVerdict::by_named_check() const {
  return std::any_of(failed.begin(), failed.end(), [this](const auto& check) {
    return check == mutant->expect.check || check == mutant->expect.or_check;
  });
}

const Case& MutantInputs::of(const char* family, Dtype dtype, std::int64_t V, std::int64_t rows) {
  Slot* slot = nullptr;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    std::unique_ptr<Slot>& s = slots_[{family, dtype, V, rows}];
    if (!s) s = std::make_unique<Slot>();
    slot = s.get();
  }
  std::call_once(slot->once,
                 [&] { slot->made = std::make_unique<Case>(family_named(family), dtype, V, rows, 1); });
  return *slot->made;
}

std::vector<std::int64_t> MutantInputs::sizes_of_right_kernels() const {
  if (quick_) return {1, 33, 1025};
  return {1, 2, 33, 129, 1025, 4099};
}

std::int64_t mutant_rows(const Mutant& m) {
  if (m.expect.rows > 0) return m.expect.rows;
  // A probe has its own rows, and the right kernels have many families.
  const Family* family = find_family(m.expect.family);
  const std::int64_t rows = family ? report_rows(*family, m.variant.dtype, m.expect.V, false) : 1;
  return std::max<std::int64_t>(3, rows);
}

MutantVerdict judge_mutant(const Mutant& m, MutantInputs& inputs) {
  MutantVerdict v;
  v.mutant = &m;
  v.detail = m.missing ? m.missing() : unavailable_reason(m.variant.backend);
  if (!v.detail.empty()) return v;
  // On a device, a planted fault may end its process's CUDA context.
  const Variant variant =
      m.variant.backend == Backend::cuda && m.single_case() ? isolated(m.variant) : m.variant;
  if (!m.single_case()) {
    for (const Record& r : run_group(m, v.detail)) take(v, r);
  } else if (m.expect.family == std::string_view(kProbeFamily)) {
    take(v, probe_record(variant, behaviour_of(variant)));
  } else if (m.expect.family == std::string_view()) {
    judge_right(v, variant, inputs);
  } else {
    take(v, check_case(variant, inputs.of(m.expect.family, variant.dtype, m.expect.V, mutant_rows(m)),
                       variant.op, m.expect.pick));
  }
  return v;
}

}  // namespace assay

namespace assay::peer {
namespace {

/// got - want| <= atol + rtol |want|. Infinities must be equal; NaN never is.
bool close(const Pair& p, double rtol, double atol) {
  if (std::isinf(p.want) || std::isinf(p.got)) return p.want == p.got;
  return std::fabs(p.got - p.want) <= atol + rtol * std::fabs(p.want);
}

bool allclose(Dtype, Op, std::int64_t, std::span<const Pair> pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [](const Pair& p) { return close(p, 1e-4, 1e-4); });
}

bool assert_close(Dtype out, Op, std::int64_t, std::span<const Pair> pairs) {
  double rtol = 1.3e-6, atol = 1e-5;
  if (out == Dtype::f16) rtol = 1e-3;
  if (out == Dtype::bf16) rtol = 1.6e-2;
  if (out == Dtype::f64) rtol = 1e-7, atol = 1e-7;
  return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& p) { return close(p, rtol, atol); });
}

double machine_epsilon(Dtype t) { return 2 * unit_roundoff(t); }

/// Compares point by point. In addition, too many zeros make a result untrusted, which is no pass.
bool benchdnn(Dtype out, Op op, std::int64_t V, std::span<const Pair> pairs) {
  const bool wide = out == Dtype::f32 || out == Dtype::f64;
  const double threshold = (log_probabilities(op) ? 5 : 1) * (wide ? 10 : 1) * machine_epsilon(out);
  const double tiny = machine_epsilon(Dtype::f32);
  std::int64_t zeros = 0;
  for (const Pair& p : pairs) {
    zeros += p.got == 0;
    const double difference = std::fabs(p.got - p.want), size = std::fabs(p.want);
    const double relative =
        size > static_cast<double>(std::numeric_limits<float>::min()) ? difference / size : difference;
    bool ok = p.got == p.want;
    ok = ok || (size > 1e-5 ? relative : difference) <= threshold;
    ok = ok || difference < tiny;
    ok = ok || (out == Dtype::f16 && std::isnan(p.got) && std::isnan(p.want));
    if (!ok) return false;
  }
  const double allowed = log_probabilities(op) && V == 1
                             ? 100
                             : 100.0 * static_cast<double>(std::max<std::int64_t>(0, V - 8)) /
                                   static_cast<double>(std::max<std::int64_t>(1, V));
  const bool untrusted =
      pairs.size() >= 10 && 100.0 * static_cast<double>(zeros) / static_cast<double>(pairs.size()) > allowed;
  return !untrusted;
}

constexpr Rule kRules[] = {
    {"allclose(1e-4)", "|got - want| <= 1e-4 + 1e-4 |want|; NaN is never close",
     "numpy.allclose and torch.allclose with rtol = atol = 1e-4", allclose},
    {"assert_close",
     "|got - want| <= 1e-5 + r |want|, r = 1.3e-6 (f32), 1e-3 (f16), 1.6e-2 (bf16); NaN is never close",
     "torch.testing.assert_close, defaults by dtype", assert_close},
    {"benchdnn",
     "relative difference <= 10 eps (f32; 5 times that for log-softmax) or eps (f16, bf16) where |want| > "
     "1e-5, the "
     "difference itself below; any difference under 1.2e-7; no more zeros than row length - 8",
     "oneDNN, tests/benchdnn/softmax/softmax.cpp and utils/compare.cpp", benchdnn},
};

/// The elements that min_p or top_p keeps; for other ops all.
std::vector<bool> kept_of(Op op, const std::vector<double>& x, double m, double threshold) {
  std::vector<bool> kept(x.size(), !keeps_a_set(op));
  if (op == Op::min_p)
    for (std::size_t j = 0; j < x.size(); ++j) kept[j] = std::exp(x[j] - m) >= threshold;
  if (op != Op::top_p) return kept;
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  double all = 0, before = 0;
  for (const double v : x) all += std::exp(v - m);
  for (const std::size_t j : order) {
    kept[j] = before < threshold * all;
    before += std::exp(x[j] - m);
  }
  return kept;
}

double rounded(Dtype t, double x) { return decode(t, encode(t, x)); }

}  // namespace

std::span<const Rule> rules() { return kRules; }

std::vector<double> reference(Op op, const Tensor& logits, const Pick& pick, Dtype out) {
  std::vector<double> all;
  std::vector<double> x(static_cast<std::size_t>(logits.V));
  for (std::int64_t row = 0; row < logits.rows; ++row) {
    double m = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] = logits.at(row, static_cast<std::int64_t>(j));
      m = std::fmax(m, x[j]);
    }
    double s = 0;
    std::vector<double> summed = x;
    if (op == Op::topk_softmax) {
      std::ranges::sort(summed, std::greater());
      summed.resize(std::min(summed.size(), static_cast<std::size_t>(pick.k)));
    }
    const std::vector<bool> kept = kept_of(op, x, m, pick.threshold);
    if (keeps_a_set(op))
      for (std::size_t j = 0; j < x.size(); ++j)
        if (!kept[j]) summed[j] = -std::numeric_limits<double>::infinity();
    for (const double v : summed) s += std::exp(v - m);
    const auto value = [&](std::size_t j) {
      const double y = !kept[j]                ? 0
                       : op == Op::topk        ? x[j]
                       : op == Op::lse         ? m + std::log(s)
                       : log_probabilities(op) ? x[j] - m - std::log(s)
                                               : std::exp(x[j] - m) / s;
      return rounded(out, y);
    };
    if (op == Op::lse) {
      all.push_back(value(0));
    } else if (selects(op)) {
      std::vector<std::size_t> order(x.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::isnan(x[b]) ? !std::isnan(x[a]) : x[a] > x[b];
      });
      for (std::size_t j = 0; j < static_cast<std::size_t>(pick.k); ++j)
        all.push_back(j < order.size() ? value(order[j]) : 0.0);
    } else {
      for (std::size_t j = 0; j < x.size(); ++j) all.push_back(value(j));
    }
  }
  return all;
}

Tensor normal_inputs(Dtype dtype, std::int64_t rows, std::int64_t V) {
  return make_input(*find_family("normal_1"), dtype, V, rows, 1);
}

Tensor benchdnn_inputs(Dtype dtype, std::int64_t rows, std::int64_t V) {
  Tensor t(dtype, rows, V);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t group = row / 64;
    std::minstd_rand random(static_cast<unsigned>(row) + 1);
    const auto between = [&](std::int64_t lo, std::int64_t hi) {
      return lo + static_cast<std::int64_t>(random()) % (hi - lo + 1);
    };
    const double level = group % 2 ? -88 : 88;
    std::int64_t top[] = {between(1, 2), between(2, 5), between(5, 8)};
    const std::int64_t tops = std::min(V, top[0] + top[1] + top[2]);
    const std::int64_t first = between(0, V - tops);
    for (std::int64_t j = 0; j < V; ++j) t.set(row, j, -max_finite(dtype));
    int which = 0;
    for (std::int64_t j = first; j < first + tops; ++j) {
      while (top[which] == 0) ++which;
      t.set(row, j, level + 2 - which);
      --top[which];
    }
  }
  return t;
}

std::vector<Pair> outputs(const Variant& variant, Op op, const Tensor& logits, const Pick& pick) {
  constexpr std::size_t kGuard = 4096;
  const Problem p = problem_of(variant, op, logits.rows, logits.V, pick, logits.V);
  const auto rows = static_cast<std::size_t>(p.rows);
  const auto image = [](std::size_t bytes) {
    Image made(bytes, 0, kGuard);
    std::memset(made.data(), 0, made.size());
    return made;
  };
  Images images;
  images.logits = image(logits.bytes.size());
  std::memcpy(images.logits.payload(), logits.bytes.data(), logits.bytes.size());
  images.probs = image(rows * static_cast<std::size_t>(p.out_columns()) * size_of(p.out));
  if (selects(op)) images.indices = image(rows * static_cast<std::size_t>(p.k * p.index_bytes()));
  images.m = image(rows * sizeof(float));
  images.d = image(rows * sizeof(float));
  if (variant.workspace_bytes)
    if (const std::size_t n = variant.workspace_bytes(p); n > 0) images.workspace = image(n);
  if (!launch(variant, p, images, LaunchOptions{}).ok()) return {};
  const std::vector<double> want = reference(op, logits, pick, p.out);
  std::vector<Pair> pairs(want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    pairs[i] = {want[i],
                decode(p.out, load_bits(p.out, images.probs.payload(), static_cast<std::int64_t>(i)))};
  return pairs;
}

}  // namespace assay::peer
