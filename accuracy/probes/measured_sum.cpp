// SPDX-License-Identifier: Apache-2.0
#include "accuracy/probes/measured_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/before_launch.hpp"
#include "accuracy/probes/probes.hpp"
#include "kernels/declaration.hpp"
#include "reference/hash/draws.hpp"

namespace assay {
namespace {

using namespace probe;

/// Rows longer than this are not measured: the rows for one leaf would take gigabytes.
constexpr std::int64_t kLongestMeasured = std::int64_t{1} << 22;

/// Up to this length a GPU is asked for twice as many leaves.
constexpr std::int64_t kManyLeaves = 1 << 14;

/// The largest value of the dtype that is at most x.
double just_below(Dtype dtype, double x) {
  const double nearest = round_to(dtype, x);
  return nearest > x ? -next_up(dtype, -nearest) : nearest;
}

/// A lower bound of one row's d, from whatever the kernel shows of it; empty if it shows too little.
std::optional<double> least_sum(const Variant& v, const Terms& terms, const Output& got, std::int64_t row,
                                std::int64_t leaf) {
  // The error of d + epsilon: its own rounding, and that of epsilon.
  const double epsilon = terms.epsilon > 0 ? 2 * lam(terms.u) : 0;
  if (v.op == Op::lse || v.op == Op::log_softmax) {
    if (v.out() != Dtype::f32) return {};
    // The maximum is 0, so lse is ln d, and log-softmax at the maximum is -ln d. The error of the log is
    // relative.
    const double log_sum = v.op == Op::lse ? got.at(row, 0) : -got.at(row, leaf);
    return std::exp(log_sum * (1 - 2 * terms.log_error)) * (1 - epsilon) - terms.epsilon;
  }
  if (got.d.empty()) return {};
  // If the kernel writes no sum, it is 1 / (the output at the 0), except for the error of the division. A sum
  // that is written may or may not include epsilon.
  const double slack = v.writes_normalizer && got.slack > 0 ? got.slack
                       : got.slack > 0                      ? lam(terms.D) + lam(terms.u_out) + 2 * epsilon
                                                            : 0;
  if (slack > 0x1p-18) return {};
  return got.sum(row) * (1 - slack);
}

/// Few terms, each many thousand ulp of the sum: in any order of additions, each of them adds less than half
/// an ulp of error.
constexpr int kFewTerms = 100;
/// e^x at these is 0.0041 to 0.0067.
constexpr double kFewAt[] = {-5.0, -5.11, -5.23, -5.31, -5.42, -5.5};

/// Rows of one 0 and kFewTerms logits from kFewAt. All other logits are so low that together they vanish.
Tensor rows_of_few(const Variant& v, std::int64_t V, std::int64_t leaf, double vanishing) {
  Tensor logits(v.dtype, std::ssize(kFewAt), V);
  const std::int64_t stride = std::max<std::int64_t>(1, (V - 1) / kFewTerms);
  for (std::int64_t row = 0; row < logits.rows; ++row) {
    int left = kFewTerms;
    const double x = round_to(v.dtype, kFewAt[static_cast<std::size_t>(row)]);
    for (std::int64_t j = 0; j < V; ++j) {
      const bool few = j != leaf && j % stride == 0 && left > 0;
      left -= few;
      logits.set(row, j, j == leaf ? 0 : few ? x : vanishing);
    }
  }
  return logits;
}

/// Empty if an order of additions explains the sums of those rows, or if too little is visible; else what is
/// wrong.
std::string off_in_rows_of_few(const Variant& v, const Terms& terms, const Output& got, const Tensor& logits,
                               std::int64_t leaf, double alone) {
  for (std::int64_t row = 0; row < logits.rows; ++row) {
    const std::optional<double> d = least_sum(v, terms, got, row, leaf);
    if (!d) return {};
    Enclosure exact{0, 0};
    double lowest = 0;
    for (std::int64_t j = 0; j < logits.V; ++j) {
      const Enclosure e = exp_of(logits.at(row, j));
      exact.lo += e.lo, exact.hi += e.hi;
      if (j != leaf) lowest = std::max(lowest, e.hi);
    }
    // Sums of V doubles, one exp for each, the additions, the rescales of kept outputs, the division; all
    // doubled.
    const double x = std::log(lowest);
    const double rescales =
        terms.kept ? 2 * (terms.exp_constant + lam(terms.u)) + std::fabs(x) * terms.kept_slope() : 0;
    const double allowed = 2 * (0x1p-32 + kFewTerms * lam(terms.u) + exp_error_below_zero(terms, x) +
                                rescales + lam(terms.D) + lam(terms.u_out) + 2 * terms.log_error);
    const double is = *d / alone;
    if (is >= exact.lo * (1 - allowed) && is <= exact.hi * (1 + allowed)) continue;
    return fmt::format(
        "a row of V = {} with a 0, {} logits of {:.6g} and nothing else that counts sums to {:.7g}, exact is "
        "{:.7g}: no "
        "order of additions errs by more than {:.2g} of that",
        logits.V, kFewTerms, x, is, exact.lo, allowed);
  }
  return {};
}

/// The first, the last, the middle, and some that follow no stride.
std::vector<std::int64_t> leaves(std::int64_t V, int count) {
  std::vector<std::int64_t> at = {V - 1};
  if (count > 2) at = {0, V - 1, V / 2, 1};
  std::uint64_t state = static_cast<std::uint64_t>(V) + turned_by_seed();
  while (std::ssize(at) < count) {
    state = next_in_no_order(state);
    at.push_back(static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(V)));
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at;
}

/// Logits of the dtype between -16 and -6, different for every reader as far as there are enough values.
std::vector<double> reader_logits(Dtype dtype, std::int64_t most) {
  std::vector<double> y;
  for (int i = 0; std::ssize(y) < most && i < 512; ++i) {
    const double x = round_to(dtype, -6 - 10 * (static_cast<double>(i * 199 % 512) + 0.5) / 512);
    if (std::find(y.begin(), y.end(), x) == y.end()) y.push_back(x);
  }
  return y;
}

/// d from the outputs of a row. Each output says that e^x / d is one of the numbers that round to it.
struct Span {
  double lo = 0, hi = std::numeric_limits<double>::infinity();
};
Span sum_by_readers(const Variant& v, const Terms& terms, const Output& got, std::int64_t row,
                    std::int64_t leaf, const std::vector<std::int64_t>& columns,
                    const std::vector<double>& y) {
  Span d;
  const auto read = [&](std::int64_t column, double x) {
    const RoundsTo all = rounds_to(v.out(), got.at(row, column));
    const double rescales =
        terms.kept ? 2 * (terms.exp_constant + lam(terms.u)) + std::fabs(x) * terms.kept_slope() : 0;
    const double off = std::exp(exp_error_below_zero(terms, x) + lam(terms.D) + rescales);
    const Enclosure e = exp_of(x);
    d.lo = std::max(d.lo, e.lo / off / all.hi);
    if (all.lo > 0) d.hi = std::min(d.hi, e.hi * off / all.lo);
  };
  read(leaf, 0);
  for (std::size_t i = 0; i < y.size(); ++i) read(columns[i], y[i]);
  if (terms.epsilon > 0) {
    // Their common divisor is d + epsilon, rounded once.
    d.lo = std::max(0.0, d.lo * (1 - 2 * terms.u) - terms.epsilon * (1 + terms.u));
    d.hi = d.hi * (1 + 2 * terms.u) - terms.epsilon * (1 - terms.u);
  }
  return d;
}

MeasuredSum launch_failed(const Output& got, std::int64_t V) {
  MeasuredSum m{0, "a launch failed: " + got.fault};
  m.rows = got.rows;
  m.went_wrong = {fmt::format("{} rows of {} columns, to measure the sum: {}", m.rows, V, got.fault),
                  got.ended,
                  {},
                  0,
                  got.fault_kind};
  if (m.was_refused()) m.saw = m.went_wrong.fault;
  return m;
}

/// Measures the sum of a kernel with 16-bit outputs. These show a sum only roughly, however many are read. It
/// is enough to tell a long chain of additions, as of one thread per row, from a tree.
MeasuredSum measure_chain(const Variant& v, const Terms& terms, std::int64_t V, std::int64_t at_least) {
  const auto not_measured = [](std::string why) { return MeasuredSum{0, std::move(why)}; };
  const char* const rough = "only 16-bit outputs show the sum, too roughly for anything but a long chain";
  if (v.op != Op::softmax || terms.arithmetic != Dtype::f32 || V < 256) return not_measured(rough);
  constexpr int kScales = 5;
  std::vector<double> t;
  for (int k = 0; k < kScales; ++k)
    t.push_back(just_below(v.dtype, std::log(terms.u) - k * std::log(2.0) - 1e-4));
  t.push_back(just_below(v.dtype, std::log(terms.u / static_cast<double>(2 * V))));
  // About a thousand terms far above half an ulp of 1; the others vanish. No chain loses any of these terms.
  // If some are missing, they were left out, or the sum was rounded too often.
  const std::size_t kept_from = t.size();
  for (const double x : {-8.0, -8.4, -8.7, -9.1}) t.push_back(just_below(v.dtype, x));
  const std::int64_t stride = std::max<std::int64_t>(1, V / 1000);
  const std::vector<double> y = reader_logits(v.dtype, V / 16);
  double most = 0;
  std::string at;
  for (const std::int64_t leaf : {std::int64_t{0}, V - 1}) {
    std::vector<std::int64_t> columns;
    for (std::size_t i = 0; i < y.size(); ++i)
      columns.push_back(1 +
                        static_cast<std::int64_t>(i + 1) * (V - 2) / static_cast<std::int64_t>(y.size() + 1));
    const auto rows = static_cast<int>(t.size());
    Tensor logits(v.dtype, rows, V);
    for (int k = 0; k < rows; ++k) {
      const bool some = static_cast<std::size_t>(k) >= kept_from;
      for (std::int64_t j = 0; j < V; ++j)
        logits.set(k, j, j == leaf ? 0 : t[static_cast<std::size_t>(some && j % stride != 0 ? kScales : k)]);
      for (std::size_t i = 0; i < y.size(); ++i) logits.set(k, columns[i], y[i]);
    }
    const Output got = launch_on(v, logits, 1, {}, at_least);
    if (!got.skipped.empty()) return not_measured("outside the declared limits: " + got.skipped);
    if (!got.fault.empty()) return launch_failed(got, V);
    double readers = 1;
    for (const double x : y) readers += std::exp(x);
    const Span alone = sum_by_readers(v, terms, got, kScales, leaf, columns, y);
    if (!(alone.lo <= alone.hi)) return not_measured(rough);
    for (std::size_t k = kept_from; k < t.size(); ++k) {
      const Span d = sum_by_readers(v, terms, got, static_cast<std::int64_t>(k), leaf, columns, y);
      double exact = 0;
      for (std::int64_t j = 0; j < V; ++j) exact += std::exp(logits.at(static_cast<std::int64_t>(k), j));
      // Each of them is at least 940 ulp of the sum. If all are rounded in the same direction, the error is
      // half an ulp in 940, that is 5.3e-4 of their own sum, which is less than half of d.
      const double allowed = 2 * (alone.hi / alone.lo - 1) + 5e-4;
      if (!(d.hi >= exact * (1 - allowed) && d.lo <= exact * (1 + allowed)))
        return not_measured("the sum has an error that no chain of roundings explains");
    }
    for (int k = 0; k < kScales; ++k) {
      const Span d = sum_by_readers(v, terms, got, k, leaf, columns, y);
      const double small = std::exp(t[static_cast<std::size_t>(k)]);
      const double exact = readers + static_cast<double>(V - 1 - std::ssize(y)) * small;
      // Each addition of the readers' own terms may be off by half an ulp.
      const double unsure =
          (readers * (alone.hi / alone.lo - 1) + static_cast<double>(y.size()) * terms.u) / small;
      const double least = (exact - d.hi / alone.lo * readers) / small, mean = least + unsure;
      const double additions = std::ldexp(mean, -k);
      if (d.lo <= d.hi && least > 4 * unsure && least > static_cast<double>(V) / 64 && additions > most) {
        most = additions;
        at = fmt::format("a 0 in column {} of {} loses some {:.0f} of the logits at {}", leaf, V, mean,
                         t[static_cast<std::size_t>(k)]);
      }
    }
  }
  if (most == 0) return not_measured(rough);
  // The height is known to a factor of about 2.
  const double height = std::min(std::ceil(2 * most), static_cast<double>(V - 1));
  return {static_cast<std::int64_t>(height), at};
}

MeasuredSum measure(const Variant& v, std::int64_t V, std::int64_t at_least, bool two) {
  const auto not_measured = [](std::string why) { return MeasuredSum{0, std::move(why)}; };
  if (V < 2) return {1, "one term"};
  if (V > kLongestMeasured) return not_measured(fmt::format("rows of {} are too long to measure", V));
  const Terms terms = terms_of(v.claim, v.backend, v.out(), V);
  if (terms.stored) return not_measured("the sum may be of numerators in 16 bits");
  if (terms.narrow) return not_measured("a 16-bit sum does not hold the rows that would show it");
  // In a row whose maximum is 0 the largest term is e^0 = 1 for every kind of shift. The exception is late
  // rescaling with so large a threshold that the sum refers to another logit.
  if (terms.tau > 16) return not_measured("rescales put off this far change the sum's scale");
  int scales = 1;
  while ((std::int64_t{1} << (scales - 1)) < V) ++scales;

  // 2^k times e^t is just below half an ulp of 1, the error of the exp included.
  std::vector<double> t;
  // At the last scale all of them together vanish. What is left is 1, with errors that do not come from the
  // sum.
  for (int k = 0; k < scales + 2; ++k) {
    t.push_back(just_below(v.dtype, std::log(terms.u) - k * std::log(2.0) - 1e-4));
  }
  const bool quick = v.on_executor || on_host(v.backend) || V > kManyLeaves;
  double most = 0;
  std::string at, refuted;
  bool tried_few = false;
  // The rows are the same for every leaf, but for the place of their 0.
  Tensor logits(v.dtype, scales + 2, V);
  for (int k = 0; k < scales + 2; ++k) {
    const std::uint64_t bits = encode(v.dtype, t[static_cast<std::size_t>(k)]);
    for (std::int64_t j = 0; j < V; ++j) store_bits(v.dtype, logits.row(k), j, bits);
  }
  std::optional<std::int64_t> zeros;
  for (const std::int64_t leaf : leaves(V, two ? 2 : quick ? 8 : 16)) {
    for (int k = 0; k < scales + 2; ++k) {
      if (zeros) logits.set(k, *zeros, t[static_cast<std::size_t>(k)]);
      logits.set(k, leaf, 0);
    }
    zeros = leaf;
    const Output got = launch_on(v, logits, 1, {}, at_least);
    if (!got.skipped.empty()) return not_measured("outside the declared limits: " + got.skipped);
    if (!got.fault.empty()) return launch_failed(got, V);
    std::vector<double> lost;
    const std::optional<double> alone = least_sum(v, terms, got, scales + 1, leaf);
    for (int k = 0; k < scales; ++k) {
      const Enclosure e = exp_of(t[static_cast<std::size_t>(k)]);
      const std::optional<double> d = least_sum(v, terms, got, k, leaf);
      if (!d || !alone) return measure_chain(v, terms, V, at_least);
      lost.push_back((1 + static_cast<double>(V - 1) * e.hi - *d / *alone) / e.lo);
    }
    // A sum without its largest term is wrong, not long; judging the rows themselves shows that.
    if (!(lost[0] * terms.u < 0.5) || !(std::fabs(*alone - 1) < 0.5)) continue;
    if (!tried_few && V > 2 * kFewTerms) {
      tried_few = true;
      const Tensor few = rows_of_few(v, V, leaf, t.back());
      const Output of_few = launch_on(v, few, 1, {}, at_least);
      if (!of_few.fault.empty()) return launch_failed(of_few, V);
      refuted =
          of_few.skipped.empty() ? off_in_rows_of_few(v, terms, of_few, few, leaf, *alone) : std::string();
      if (!refuted.empty()) return {.saw = refuted, .refuted = refuted};
    }
    const double additions = additions_on_path(lost.data(), scales);
    if (additions > most) {
      most = additions;
      at = fmt::format("a 0 in column {} of {} loses {:.0f} of the logits at {}", leaf, V,
                       std::max(0.0, lost[0]), t[0]);
    }
  }
  if (most == 0) return not_measured("no row of one 0 and small logits had a sum of 1 or more");
  const double height = std::min(std::ceil(most), static_cast<double>(V - 1));
  return {static_cast<std::int64_t>(height), at};
}

}  // namespace

double additions_on_path(const double* lost, int scales) {
  double additions = 0, before = 0;
  for (int k = 0; k < scales; ++k) {
    const double fresh = std::max(0.0, lost[k] - before);
    additions += k == 0 ? fresh : fresh / (std::ldexp(1.0, k - 1) + 1);
    before = std::max(before, lost[k]);
  }
  return additions;
}

MeasuredSum measured_sum(const Variant& variant, std::int64_t V, std::int64_t rows, bool few) {
  static std::mutex mutex;
  // Whoever wants what another thread is measuring waits for it.
  struct Known {
    std::mutex measuring;
    std::optional<MeasuredSum> sum;
  };
  static std::map<std::tuple<std::string, std::int64_t, std::int64_t, bool>, std::shared_ptr<Known>> all;
  // Outputs that were fetched in parts have no launcher. That is no fault of the kernel.
  if (!variant.launcher && !variant.run) return {0, "its launches are made in parts"};
  // Without an origin, one name may stand for several kernels.
  if (variant.origin.empty()) return measure(variant, V, rows, few);
  // Other limits lead to other launches, so they are part of the key.
  const std::tuple<std::string, std::int64_t, std::int64_t, bool> who{
      variant.key() + " " + variant.origin + " " + declaration_of(variant), V, rows, few};
  std::shared_ptr<Known> known;
  {
    const std::lock_guard lock(mutex);
    std::shared_ptr<Known>& one = all[who];
    if (!one) one = std::make_shared<Known>();
    known = one;
  }
  const std::lock_guard lock(known->measuring);
  if (known->sum) return *known->sum;
  MeasuredSum m = measure(variant, V, rows, few);
  // A launch that was lost for want of memory or time may succeed next time.
  if (m.went_wrong.ended != Ended::lost) known->sum = m;
  return m;
}

}  // namespace assay
