// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shrink.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace assay::fuzz {
namespace {

std::uint64_t bits_at(const Tensor& t, std::int64_t i) { return load_bits(t.dtype, t.bytes.data(), i); }

/// A tensor of the given rows and columns.
Tensor part(const Tensor& t, const std::vector<std::int64_t>& rows,
            const std::vector<std::int64_t>& columns) {
  Tensor out(t.dtype, static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns.size()));
  for (std::int64_t r = 0; r < out.rows; ++r)
    for (std::int64_t j = 0; j < out.V; ++j)
      store_bits(
          t.dtype, out.row(r), j,
          load_bits(t.dtype, t.row(rows[static_cast<std::size_t>(r)]), columns[static_cast<std::size_t>(j)]));
  return out;
}

std::vector<std::int64_t> all(std::int64_t n) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(n));
  std::iota(list.begin(), list.end(), std::int64_t{0});
  return list;
}

/// Number of significant bits of a finite number; 0 for 0.
int significant(double x) {
  if (x == 0) return 0;
  const std::uint64_t m = std::bit_cast<std::uint64_t>(x) & ((std::uint64_t{1} << 52) - 1);
  return m == 0 ? 1 : 53 - std::countr_zero(m);
}

/// How hard a number is to read: its bits, plus its distance from a small integer.
int complexity(double x) {
  if (x == 0) return std::signbit(x) ? 1 : 0;
  if (!std::isfinite(x)) return 0;
  const int e = exponent_of(x);
  return 2 * significant(x) + std::abs(e) / 4 + (x != std::floor(x) ? 2 : 0) + (x < 0 ? 1 : 0);
}

class Shrinker {
 public:
  Shrinker(const Variant& variant, Op op, const Trial& trial, const Signature& signature,
           const ShrinkOptions& options)
      : variant_(variant), op_(op), best_(trial), signature_(signature), options_(options) {}

  Shrunk run() {
    for (bool again = true; again && !spent();) {
      const int before = kept_;
      layout();
      rows();
      columns();
      values();
      numbers();
      again = kept_ > before;
    }
    Shrunk s{best_, check(variant_, op_, best_, true), launches_ + 1};
    return s;
  }

 private:
  bool spent() const {
    return launches_ >= options_.launches ||
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >
               options_.seconds;
  }

  /// Keeps the trial if it still fails the same way.
  bool keep(Trial t) {
    if (spent()) return false;
    ++launches_;
    if (kind_of(t.logits) != signature_.rows) return false;
    if (!fails_like(check(variant_, op_, t, false), t.logits, signature_)) return false;
    best_ = std::move(t);
    ++kept_;
    return true;
  }
  bool keep_logits(Tensor logits) {
    Trial t = best_;
    t.logits = std::move(logits);
    return keep(std::move(t));
  }

  void layout() {
    Trial plain = best_;
    plain.pitch_gap = plain.first = plain.max_blocks = 0;
    plain.schedule = 0;
    const auto same = [](const Trial& a, const Trial& b) {
      return a.pitch_gap == b.pitch_gap && a.first == b.first && a.max_blocks == b.max_blocks &&
             a.schedule == b.schedule;
    };
    if (same(plain, best_) || keep(plain)) return;
    for (int gene = 0; gene < 4; ++gene) {
      Trial one = best_;
      (gene == 0 ? one.pitch_gap : gene == 1 ? one.first : one.max_blocks) = gene < 3 ? 0 : one.max_blocks;
      if (gene == 3) one.schedule = 0;
      if (!same(one, best_)) keep(std::move(one));
    }
    while (best_.pick.k > 1 || best_.pick.threshold >= 2 * kKeptSizes[2].least) {
      Trial one = best_;
      one.pick = {one.pick.k / 2, one.pick.threshold / 2};
      if (!keep(std::move(one))) break;
    }
  }

  /// Delta debugging: removes stretches of `n` items, from half of the items down to one. `without(items)`
  /// keeps a trial that has only these items, and returns whether it could.
  void reduce(std::int64_t n, std::int64_t least,
              const std::function<bool(const std::vector<std::int64_t>&)>& only) {
    std::vector<std::int64_t> items = all(n);
    for (std::int64_t chunk = std::max<std::int64_t>(1, n / 2);;) {
      bool gained = false;
      for (std::size_t at = 0; at < items.size() && !spent();) {
        const std::size_t size = std::min<std::size_t>(static_cast<std::size_t>(chunk), items.size() - at);
        if (static_cast<std::int64_t>(items.size() - size) < least) break;
        std::vector<std::int64_t> rest = items;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(at),
                   rest.begin() + static_cast<std::ptrdiff_t>(at + size));
        if (only(rest)) {
          items = std::move(rest);
          gained = true;
        } else {
          at += size;
        }
      }
      if (spent() || (chunk == 1 && !gained)) return;
      if (!gained || chunk > static_cast<std::int64_t>(items.size()))
        chunk = std::max<std::int64_t>(1, chunk / 2);
    }
  }

  void rows() {
    if (best_.logits.rows < 2) return;
    const Tensor t = best_.logits;
    for (std::int64_t r = 0; r < std::min<std::int64_t>(t.rows, 64); ++r)
      if (keep_logits(part(t, {r}, all(t.V)))) return;
    reduce(t.rows, 1,
           [&](const std::vector<std::int64_t>& left) { return keep_logits(part(t, left, all(t.V))); });
  }

  void columns() {
    const Tensor t = best_.logits;
    if (t.V > 1)
      reduce(t.V, 1,
             [&](const std::vector<std::int64_t>& left) { return keep_logits(part(t, all(t.rows), left)); });
  }

  /// Makes as many elements as possible equal.
  void values() {
    const std::int64_t n = best_.logits.rows * best_.logits.V;
    for (const int which : {0, 1, 2}) {
      const Tensor t = best_.logits;
      const auto target = target_of(t, which);
      std::vector<std::int64_t> others;
      for (std::int64_t i = 0; i < n; ++i)
        if (bits_at(t, i) != target) others.push_back(i);
      if (others.empty()) continue;
      // The items that keep their own value.
      reduce(static_cast<std::int64_t>(others.size()), 0, [&](const std::vector<std::int64_t>& own) {
        Tensor next = t;
        std::set<std::int64_t> kept;
        for (std::int64_t o : own) kept.insert(others[static_cast<std::size_t>(o)]);
        for (std::int64_t i : others)
          if (!kept.contains(i)) store_bits(t.dtype, next.bytes.data(), i, target);
        return keep_logits(std::move(next));
      });
    }
  }

  /// 0, the most frequent value, or the largest.
  static std::uint64_t target_of(const Tensor& t, int which) {
    if (which == 0) return 0;
    std::map<std::uint64_t, std::int64_t> counts;
    double m = -INFINITY;
    std::uint64_t largest = 0;
    for (std::int64_t i = 0; i < t.rows * t.V; ++i) {
      ++counts[bits_at(t, i)];
      if (const double x = decode(t.dtype, bits_at(t, i)); x > m) m = x, largest = bits_at(t, i);
    }
    if (which == 2) return largest;
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  bool replaced(double from, double to) {
    Tensor next = best_.logits;
    const std::uint64_t old = encode(next.dtype, from), now = encode(next.dtype, to);
    for (std::int64_t i = 0; i < next.rows * next.V; ++i)
      if (bits_at(next, i) == old) store_bits(next.dtype, next.bytes.data(), i, now);
    return keep_logits(std::move(next));
  }

  /// Replaces every value by the roundest one that still fails, the same at all its positions.
  void numbers() {
    moved_to_zero();
    std::set<double> values;
    const Tensor t = best_.logits;
    for (std::int64_t i = 0; i < t.rows * t.V; ++i)
      if (const double x = decode(t.dtype, bits_at(t, i)); std::isfinite(x) && x != 0) values.insert(x);
    for (double x : values) {
      if (spent() || values.size() > 64) return;
      std::vector<double> candidates = {0, 1, -1};
      for (int bits = 1; bits < format(t.dtype).precision; ++bits) {
        const double unit = exp2i(exponent_of(x) - bits + 1);
        for (const double y :
             {std::nearbyint(x / unit) * unit, std::trunc(x / unit) * unit, std::ceil(x / unit) * unit})
          if (std::fabs(y) <= max_finite(t.dtype)) candidates.push_back(y);
      }
      for (const double y : {std::nearbyint(x), std::trunc(x), std::ceil(x)}) candidates.push_back(y);
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](double a, double b) { return complexity(a) < complexity(b); });
      candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
      for (double y : candidates)
        if (round_to(t.dtype, y) == y && complexity(y) < complexity(x) && replaced(x, y)) break;
    }
  }

  /// Moves the row so that its maximum is 0, if that is exact.
  void moved_to_zero() {
    Tensor next = best_.logits;
    double m = -INFINITY;
    for (std::int64_t i = 0; i < next.rows * next.V; ++i)
      if (const double x = decode(next.dtype, bits_at(next, i)); std::isfinite(x)) m = std::max(m, x);
    if (!std::isfinite(m) || m == 0) return;
    for (std::int64_t i = 0; i < next.rows * next.V; ++i) {
      const double x = decode(next.dtype, bits_at(next, i));
      if (std::isfinite(x))
        store_bits(next.dtype, next.bytes.data(), i,
                   encode(next.dtype, std::max(x - m, -max_finite(next.dtype))));
    }
    keep_logits(std::move(next));
  }

  const Variant& variant_;
  const Op op_;
  Trial best_;
  const Signature signature_;
  const ShrinkOptions options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int launches_ = 0, kept_ = 0;
};

}  // namespace

std::int64_t distinct_values(const Tensor& t) {
  std::set<std::uint64_t> seen;
  for (std::int64_t i = 0; i < t.rows * t.V; ++i) seen.insert(bits_at(t, i));
  return static_cast<std::int64_t>(seen.size());
}

Shrunk shrink(const Variant& variant, Op op, const Trial& trial, const Signature& signature,
              const ShrinkOptions& options) {
  return Shrinker(variant, op, trial, signature, options).run();
}

}  // namespace assay::fuzz
