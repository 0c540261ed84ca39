// SPDX-License-Identifier: Apache-2.0
// The frame of the oracle: decodes and sorts a row, determines its kind, and groups equal logits so that the
// costly part (oracle_row.cpp) runs once per distinct value.
#include "reference/oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "reference/error.hpp"
#include "reference/oracle/fast_row.hpp"
#include "reference/oracle/oracle_row.hpp"

namespace assay {
namespace {

/// Maps a logit's bits to an unsigned number that grows as the logit falls. Equal keys mean equal logits: -0
/// and +0 share one key, and all NaN share the last one.
std::uint64_t descending_key(Dtype t, std::uint64_t b) {
  const Format f = format(t);
  const std::uint64_t all = f.sign_mask() | (f.sign_mask() - 1);
  if (is_nan_bits(t, b)) return all;
  if (b == f.sign_mask()) b = 0;
  return b & f.sign_mask() ? b : ~b & (f.sign_mask() - 1);
}

struct Keyed {
  std::uint64_t key;
  std::int32_t position;
};

/// Stable radix sort by byte: ties keep the order of their positions. A byte that is equal in all keys costs
/// only one counting pass.
void sort_by_key(std::vector<Keyed>& items, std::size_t key_bytes) {
  std::vector<Keyed> other(items.size());
  for (std::size_t byte = 0; byte < key_bytes; ++byte) {
    const auto digit = [byte](const Keyed& k) { return static_cast<std::size_t>(k.key >> (8 * byte) & 255); };
    std::array<std::size_t, 256> start{};
    for (const Keyed& k : items) ++start[digit(k)];
    if (start[digit(items.front())] == items.size()) continue;
    std::size_t sum = 0;
    for (std::size_t& s : start) sum += std::exchange(s, sum);
    for (const Keyed& k : items) other[start[digit(k)]++] = k;
    items.swap(other);
  }
}

RowKind classify(const std::vector<double>& x, std::int64_t& finite) {
  bool nan = false, pos_inf = false;
  finite = 0;
  for (double v : x) {
    nan |= std::isnan(v);
    pos_inf |= v == std::numeric_limits<double>::infinity();
    finite += std::isfinite(v);
  }
  if (x.empty()) return RowKind::empty;
  if (nan) return RowKind::nan;
  if (pos_inf) return RowKind::pos_inf;
  if (finite == 0) return RowKind::all_neg_inf;
  return finite == static_cast<std::int64_t>(x.size()) ? RowKind::finite : RowKind::masked;
}

double row_maximum(const RowTruth& t) {
  if (t.kind == RowKind::nan) return std::numeric_limits<double>::quiet_NaN();
  if (t.kind == RowKind::empty) return -std::numeric_limits<double>::infinity();
  return t.x[static_cast<std::size_t>(t.order.front())];
}

}  // namespace

RowTruth row_truth(Dtype in, const void* logits, std::int64_t V, Dtype out, const OracleOptions& options) {
  if (V < 0 || V > std::numeric_limits<std::int32_t>::max())
    throw InputError("oracle: V must be between 0 and 2^31 - 1, got " + std::to_string(V));
  const auto size = static_cast<std::size_t>(V);
  RowTruth t;
  t.x.resize(size);
  t.order.resize(size);
  std::vector<Keyed> items(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t b = load_bits(in, logits, static_cast<std::int64_t>(i));
    t.x[i] = decode(in, b);
    items[i] = {descending_key(in, b), static_cast<std::int32_t>(i)};
  }
  if (size > 0) sort_by_key(items, size_of(in));
  for (std::size_t i = 0; i < size; ++i) t.order[i] = items[i].position;

  t.kind = classify(t.x, t.finite);
  t.m = row_maximum(t);
  if (t.kind != RowKind::finite && t.kind != RowKind::masked) return t;
  t.argmax = t.order.front();
  if (options.selection_only) return t;

  std::vector<Group> groups;
  for (std::int64_t i = 0; i < t.finite; ++i) {
    const Keyed& k = items[static_cast<std::size_t>(i)];
    if (i == 0 || k.key != items[static_cast<std::size_t>(i - 1)].key)
      groups.push_back({t.x[static_cast<std::size_t>(k.position)], i, 0});
    ++groups.back().count;
  }
  t.larger.assign(size, static_cast<std::int32_t>(groups.size()));
  t.d.assign(size, -std::numeric_limits<double>::infinity());
  t.lo.assign(size, 0);
  t.hi.assign(size, 0);
  t.rounded.assign(size, 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // A finite logit gets a finite distance even if x - m overflows in f64: -inf in d means a masked
    // position.
    const double d = std::max(groups[g].x - t.m, -std::numeric_limits<double>::max());
    for (std::int64_t i = 0; i < groups[g].count; ++i) {
      const auto position = static_cast<std::size_t>(t.order[static_cast<std::size_t>(groups[g].begin + i)]);
      t.larger[position] = static_cast<std::int32_t>(g);
      t.d[position] = d;
    }
  }
  if (options.tier == Tier::fast && groups.size() > 1 && in != Dtype::f64 && out != Dtype::f64 &&
      V <= fast::kMostTerms && solve_row_fast(t, out)) {
    t.bits = 53;
    return t;
  }
  solve_row(t, groups, out, options);
  return t;
}

std::vector<RowTruth> truth(const Tensor& logits, const OracleOptions& options) {
  std::vector<RowTruth> rows;
  rows.reserve(static_cast<std::size_t>(logits.rows));
  for (std::int64_t r = 0; r < logits.rows; ++r)
    rows.push_back(row_truth(logits.dtype, logits.row(r), logits.V, logits.dtype, options));
  return rows;
}

}  // namespace assay
