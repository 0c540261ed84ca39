// SPDX-License-Identifier: Apache-2.0
#include "kernels/counted/counted.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <tuple>

#include "kernels/candidate.hpp"
#include "kernels/counted/access_counter.hpp"

namespace assay {
namespace {

std::vector<Variant>& list() {
  static std::vector<Variant> all;
  return all;
}

/// Stops the counting when a launch ends, in whatever way.
struct Watching {
  explicit Watching(std::span<access_counter::Range> ranges) { access_counter::watch(ranges); }
  ~Watching() { access_counter::watch({}); }
};

}  // namespace

bool register_counted(Variant v) {
  list().push_back(std::move(v));
  return true;
}

const std::vector<Variant>& counted_variants() {
  static const bool sorted = [] {
    std::sort(list().begin(), list().end(), [](const Variant& a, const Variant& b) {
      return std::tie(a.variant, a.dtype) < std::tie(b.variant, b.dtype);
    });
    return true;
  }();
  (void)sorted;
  return list();
}

const Variant* find_counted(std::string_view key) {
  for (const Variant& v : counted_variants())
    if (v.key() == key) return &v;
  return nullptr;
}

AccessCounts count_accesses(const Variant& counted, const Problem& p, std::span<const std::byte> logits) {
  const auto size = static_cast<std::int64_t>(size_of(p.in)),
             out_size = static_cast<std::int64_t>(size_of(p.out));
  const std::int64_t out_columns = selects(p.op) ? p.k : p.op == Op::normalizer || one_value(p.op) ? 1 : p.V;
  if (static_cast<std::int64_t>(logits.size()) < p.rows * p.V * size)
    throw std::invalid_argument("count_accesses: fewer logits than rows x V");
  std::vector<std::byte> in(logits.begin(), logits.end());
  std::vector<std::byte> gradients(p.op == Op::softmax_backward ? in : std::vector<std::byte>());
  std::vector<std::byte> probs(
      static_cast<std::size_t>(p.rows * std::max(out_columns, p.out_pitch) * out_size));
  std::vector<std::byte> indices(
      static_cast<std::size_t>(p.rows * std::max(out_columns, p.out_pitch) * p.index_bytes()));
  std::vector<float> m(static_cast<std::size_t>(p.rows)), d(m.size());
  std::vector<float> workspace(
      counted.workspace_bytes ? (counted.workspace_bytes(p) + sizeof(float) - 1) / sizeof(float) : 0);
  Buffers b;
  b.logits = in.data();
  b.gradients = gradients.empty() ? nullptr : gradients.data();
  b.probs = p.op == Op::normalizer ? nullptr : probs.data();
  b.indices = selects(p.op) ? indices.data() : nullptr;
  b.m = m.data();
  b.d = d.data();
  b.workspace = workspace.empty() ? nullptr : workspace.data();

  std::array<access_counter::Range, 7> ranges{{{in.data(), in.size()},
                                               {probs.data(), probs.size()},
                                               {indices.data(), indices.size()},
                                               {m.data(), m.size() * sizeof(float)},
                                               {d.data(), d.size() * sizeof(float)},
                                               {workspace.data(), workspace.size() * sizeof(float)},
                                               {gradients.data(), gradients.size()}}};
  LaunchOutcome outcome;
  {
    const Watching watching(ranges);
    outcome = call_on_host(counted, p, b, 0, 0);
  }
  if (!outcome.ok()) throw std::runtime_error(counted.key() + ": " + outcome.fault);

  AccessCounts c;
  const auto bytes = [&](int i) {
    return AccessBytes{ranges[static_cast<std::size_t>(i)].loaded,
                       ranges[static_cast<std::size_t>(i)].stored};
  };
  // Accesses to the gradients are added to those of the logits, the other input.
  c.logits = {bytes(0).loaded + bytes(6).loaded, bytes(0).stored + bytes(6).stored};
  c.probs = bytes(1);
  c.indices = bytes(2);
  c.normalizer = {bytes(3).loaded + bytes(4).loaded, bytes(3).stored + bytes(4).stored};
  c.workspace = bytes(5);
  const double elements = static_cast<double>(p.rows) * static_cast<double>(p.V);
  const auto total = [&](auto member) {
    return (static_cast<double>(c.logits.*member) / static_cast<double>(size) +
            static_cast<double>(c.probs.*member) / static_cast<double>(out_size) +
            static_cast<double>(c.indices.*member) / static_cast<double>(p.index_bytes()) +
            static_cast<double>((c.normalizer.*member) + (c.workspace.*member)) / sizeof(float)) /
           elements;
  };
  c.loads = total(&AccessBytes::loaded);
  c.stores = total(&AccessBytes::stored);
  return c;
}

}  // namespace assay
