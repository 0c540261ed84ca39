// SPDX-License-Identifier: Apache-2.0
// Probes of policies, not of arithmetic: repeats and positions in a batch, special values, and how top-k
// selects.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "accuracy/judge/row_judge.hpp"
#include "accuracy/probes/probes.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

using namespace probe;

bool same(const std::vector<double>& a, std::size_t at, const std::vector<double>& b, std::size_t from,
          std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a[at + i], y = b[from + i];
    if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

/// One row at three places of a batch; then the same with another schedule, and on one block.
Observation repeats(const Variant& v) {
  Observation o{.probe = "repeats"};
  constexpr std::int64_t V = 1025;
  const Tensor one = make_input(*find_family("normal_10"), v.dtype, V, 1, 1);
  Tensor batch(v.dtype, 3, V);
  for (std::int64_t r = 0; r < 3; ++r) std::memcpy(batch.row(r), one.row(0), one.bytes.size());
  const Output a = launch_on(v, batch, 5), b = launch_on(v, batch, 5, {0x5eed, 0}), c = launch_on(v, one, 5);
  if (!landed(o, a) || !landed(o, b) || !landed(o, c)) return o;
  const auto n = static_cast<std::size_t>(V);
  const bool again = same(a.value, 0, b.value, 0, 3 * n) && a.d == b.d;
  bool anywhere = same(a.value, 0, c.value, 0, n);
  for (std::size_t r = 1; r < 3; ++r)
    anywhere = anywhere && same(a.value, 0, a.value, r * n, n) && (a.d.empty() || a.d[0] == a.d[r]);
  o.trait = again ? anywhere ? "same bits at every batch position tried" : "repeats itself"
                  : "does not repeat itself";
  o.saw = fmt::format("a row of {} at three places of a batch, alone, and again under another schedule", V);
  if (v.claim.determinism != Determinism::not_guaranteed) {
    ++o.judged;
    if (!again) o.refute("two launches on the same inputs and layout differ");
    if (v.claim.batch_invariant) {
      ++o.judged;
      if (!anywhere) o.refute("the same row at another place of a batch, or alone, has other bits");
    }
  }
  return o;
}

/// Rows that the policies are about. Family rows judge the policies; here they are described in words.
Observation special(const Variant& v) {
  Observation o{.probe = "special"};
  constexpr std::int64_t V = 33;
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::vector<Sparse> rows(3);
  for (std::int64_t j = 0; j < V; ++j) {
    rows[0].emplace_back(j, -inf);
    rows[1].emplace_back(j, j == 7 ? inf : 0.5);
    rows[2].emplace_back(j, j == 7 ? std::numeric_limits<double>::quiet_NaN() : 0.5);
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), selects(v.op) ? 5 : 0);
  if (!landed(o, got)) return o;
  const char* what[] = {"all -inf", "one +inf", "one NaN"};
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<double> values;
    for (std::int64_t j = 0; j < V; ++j) {
      const double x = got.at(static_cast<std::int64_t>(r), j);
      bool selected = !selects(v.op);
      for (int i = 0; i < got.k; ++i)
        selected =
            selected || got.indices[r * static_cast<std::size_t>(got.k) + static_cast<std::size_t>(i)] == j;
      if (selected) values.push_back(x);
    }
    o.saw += fmt::format("{}{}: {}", r ? "; " : "", what[r], describe_values(values));
  }
  return o;
}

/// Equal logits; then logits that are not equal but have equal probabilities.
Observation selection(const Variant& v) {
  Observation o{.probe = "selection"};
  constexpr std::int64_t V = 33;
  const int slots = std::min(5, v.max_k);
  std::vector<Sparse> rows(2);
  // Increases in steps that vanish in exp(x - m); f16 has no such steps.
  for (std::int64_t j = 0; j < V; ++j) {
    rows[0].emplace_back(j, 0.25);
    rows[1].emplace_back(j, static_cast<double>(j - V) * 0x1p-40);
  }
  const Output got = launch_on(v, sparse_rows(v.dtype, V, rows), slots);
  if (!landed(o, got)) return o;
  const auto index = [&](int row, int slot) {
    return got.indices[static_cast<std::size_t>(row * slots + slot)];
  };
  bool rising = true, falling = true, by_logit = true, by_prob = true;
  for (int i = 0; i < slots; ++i) {
    rising = rising && index(0, i) == i;
    falling = falling && index(0, i) == V - 1 - i;
    by_logit = by_logit && index(1, i) == V - 1 - i;
    by_prob = by_prob && index(1, i) == i;
  }
  o.trait = rising ? "ties to the smaller index" : falling ? "ties to the larger index" : "ties in no order";
  if (v.dtype != Dtype::f16)
    o.trait += by_logit ? ", selects logits" : by_prob ? ", selects probabilities" : "";
  o.saw = fmt::format("the first of {} equal logits is column {}", V, index(0, 0));
  if (v.dtype != Dtype::f16) o.saw += fmt::format(", of as many rising by 2^-40 column {}", index(1, 0));
  if (v.claim.ties != Ties::unspecified) {
    ++o.judged;
    if (!(v.claim.ties == Ties::smaller_index ? rising : falling)) {
      ++o.refuted;
      o.proof = fmt::format("{} equal logits under ties {}: slot 0 holds column {}", V, name(v.claim.ties),
                            index(0, 0));
    }
  }
  if (v.claim.select == Select::logits && v.dtype != Dtype::f16) {
    ++o.judged;
    if (!by_logit) {
      ++o.refuted;
      o.proof =
          fmt::format("{} logits rising by 2^-40, all different: slot 0 must hold column {}, it holds {}", V,
                      V - 1, index(1, 0));
    }
  }
  return o;
}

}  // namespace

void probe_policies(const Variant& v, std::vector<Observation>& out) {
  out.push_back(repeats(v));
  if (!one_value(v.op)) out.push_back(special(v));
  if (selects(v.op)) out.push_back(selection(v));
}

std::vector<Observation> run_probes(const Variant& variant) {
  std::vector<Observation> out;
  if (variant.op == Op::softmax || variant.op == Op::softmax_topk) {
    probe_sums(variant, out);
    probe_outputs(variant, out);
  } else if (variant.op == Op::log_softmax || variant.op == Op::lse) {
    probe_logs(variant, out);
  }
  probe_policies(variant, out);
  return out;
}

}  // namespace assay
