// SPDX-License-Identifier: Apache-2.0
#include "fuzz/genome.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "fuzz/genome_element.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay::fuzz {
namespace {

using nlohmann::json;

double finite(double x, double otherwise) {
  return std::isfinite(x) ? std::clamp(x, -0x1p127, 0x1p127) : otherwise;
}

template <Dtype kType>
void fill(const PreparedGenome& g, Tensor& t) {
  using Bits = typename Stored<kType>::Bits;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    auto* row = reinterpret_cast<Bits*>(t.row(r));
    for (std::int64_t i = 0; i < t.V; ++i) row[i] = logit_bits<kType>(g, r, i);
  }
}

template <class E, std::size_t N>
E one_of(const json& j, const char* gene, const std::array<const char*, N>& names) {
  const std::string word = j.at(gene).get<std::string>();
  for (std::size_t i = 0; i < N; ++i)
    if (word == names[i]) return static_cast<E>(i);
  throw InputError(fmt::format("genome: {}: '{}' is not one of its words", gene, word));
}

std::int64_t whole_gene(const json& j, const char* gene, std::int64_t lo, std::int64_t hi) {
  const json& v = j.at(gene);
  if (!v.is_number_integer()) throw InputError(fmt::format("genome: {}: not a whole number", gene));
  const auto n = v.get<std::int64_t>();
  if (n < lo || n > hi || (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(hi)))
    throw InputError(fmt::format("genome: {}: must be {} to {}", gene, lo, hi));
  return n;
}

std::uint64_t word_gene(const json& j, const char* gene) {
  if (!j.at(gene).is_number_unsigned())
    throw InputError(fmt::format("genome: {}: not a whole number from 0", gene));
  return j.at(gene).get<std::uint64_t>();
}

double real(const json& j, const char* gene) {
  if (!j.at(gene).is_number()) throw InputError(fmt::format("genome: {}: not a number", gene));
  const auto x = j.at(gene).get<double>();
  if (!std::isfinite(x)) throw InputError(fmt::format("genome: {}: not finite", gene));
  return x;
}

constexpr std::int64_t kFar = std::int64_t{1} << 40;

}  // namespace

Genome in_range(Genome g) {
  g.offset = finite(g.offset, 0);
  g.spread = finite(g.spread, 1);
  g.gap = finite(g.gap, 1);
  g.period = std::clamp<std::int64_t>(g.period, 1, kMostColumns);
  if (!(g.grid > 0x1p-100 && g.grid < 0x1p100)) g.grid = 0;
  if (g.grid > 0) g.grid = std::ldexp(1.0, std::ilogb(g.grid));
  g.stretches = std::clamp(g.stretches, 0, kMostStretches);
  g.V = std::clamp<std::int64_t>(g.V, 0, kMostColumns);
  g.rows = std::clamp<std::int64_t>(g.rows, 1,
                                    std::min(kMostRows, kMostElements / std::max<std::int64_t>(g.V, 1)));
  if (std::ssize(g.row) != g.V) g.row.clear();
  g.pitch_gap = std::clamp<std::int64_t>(g.pitch_gap, 0, 4096);
  g.first = std::clamp<std::int64_t>(g.first, 0, 64);
  g.max_blocks = std::clamp<std::int64_t>(g.max_blocks, 0, 1 << 20);
  g.k = std::clamp(g.k, 1, 1024);
  for (int s = 0; s < kMostStretches; ++s) {
    Stretch& t = g.stretch[static_cast<std::size_t>(s)];
    if (s >= g.stretches) {
      t = {};  // unused genes are cleared, so that equal genomes compare equal
      continue;
    }
    t.rows = std::clamp(t.rows, -1, 3);
    t.start = std::clamp(t.start, -g.V, g.V);
    t.length = std::clamp<std::int64_t>(t.length, 1, std::max<std::int64_t>(g.V, 1));
    t.period = std::clamp<std::int64_t>(t.period, 0, kMostColumns);
    t.value = finite(t.value, 0);
  }
  return g;
}

PreparedGenome prepare(const Genome& raw, Dtype dtype) {
  const Genome g = in_range(raw);
  const bool wide = format(dtype).emax > 15;
  PreparedGenome p{.base = g.base,
                   .stretches = g.stretches,
                   .offset = g.offset,
                   .spread = g.spread,
                   .gap = g.gap,
                   .grid = g.grid,
                   .inverse_grid = g.grid > 0 ? 1 / g.grid : 0,
                   .limit = std::min(max_finite(dtype), max_finite(Dtype::f32)),
                   .seed = g.seed,
                   .V = g.V,
                   .period = g.period,
                   .step = 1,
                   .shift = 0,
                   .span = g.base == Base::powers ? 1 + std::min<std::int64_t>(g.period, wide ? 250 : 40)
                                                  : std::min<std::int64_t>(g.period, 1 << 20),
                   .stretch = {}};
  if (g.permutation != 0 && g.V > 2) {
    const std::uint64_t h = mixed(g.permutation);
    p.step = 1 + static_cast<std::int64_t>(h % static_cast<std::uint64_t>(g.V - 1));
    while (std::gcd(p.step, g.V) != 1) ++p.step;  // V + 1 is coprime to V, so this ends
    p.step %= g.V;
    p.shift = static_cast<std::int64_t>(mixed(h) % static_cast<std::uint64_t>(g.V));
  }
  std::copy(g.stretch.begin(), g.stretch.end(), p.stretch);
  return p;
}

Tensor tensor_of(const Genome& g, Dtype dtype) {
  const Genome ranged = in_range(g);
  const PreparedGenome p = prepare(ranged, dtype);
  Tensor t(dtype, ranged.rows, ranged.V);
  if (!ranged.row.empty()) {
    for (std::int64_t r = 0; r < t.rows; ++r)
      for (std::int64_t i = 0; i < t.V; ++i) t.set(r, i, ranged.row[static_cast<std::size_t>(i)]);
    return t;
  }
  switch (dtype) {
    case Dtype::f16:
      fill<Dtype::f16>(p, t);
      break;
    case Dtype::bf16:
      fill<Dtype::bf16>(p, t);
      break;
    case Dtype::f32:
      fill<Dtype::f32>(p, t);
      break;
    default: {  // the values of f32, rounded
      Tensor narrow(Dtype::f32, t.rows, t.V);
      fill<Dtype::f32>(p, narrow);
      for (std::int64_t r = 0; r < t.rows; ++r)
        for (std::int64_t i = 0; i < t.V; ++i) t.set(r, i, narrow.at(r, i));
    }
  }
  return t;
}

json to_json(const Genome& g) {
  json stretches = json::array();
  for (int s = 0; s < g.stretches; ++s) {
    const Stretch& t = g.stretch[static_cast<std::size_t>(s)];
    stretches.push_back({{"put", kPutNames[static_cast<std::size_t>(t.put)]},
                         {"rows", t.rows},
                         {"start", t.start},
                         {"length", t.length},
                         {"period", t.period},
                         {"value", t.value}});
  }
  json out = {{"base", kBaseNames[static_cast<std::size_t>(g.base)]},
              {"offset", g.offset},
              {"spread", g.spread},
              {"gap", g.gap},
              {"period", g.period},
              {"grid", g.grid},
              {"seed", g.seed},
              {"permutation", g.permutation},
              {"stretches", std::move(stretches)},
              {"V", g.V},
              {"rows", g.rows},
              {"pitch_gap", g.pitch_gap},
              {"first", g.first},
              {"max_blocks", g.max_blocks},
              {"schedule", g.schedule},
              {"k", g.k}};
  if (!g.row.empty()) out["row"] = g.row;  // -inf is written as null
  return out;
}

Genome genome_from_json(const json& j) {
  try {
    Genome g;
    g.base = one_of<Base>(j, "base", kBaseNames);
    g.offset = real(j, "offset");
    g.spread = real(j, "spread");
    g.gap = real(j, "gap");
    g.period = whole_gene(j, "period", 1, kMostColumns);
    g.grid = real(j, "grid");
    g.seed = word_gene(j, "seed");
    g.permutation = word_gene(j, "permutation");
    const json& list = j.at("stretches");
    if (!list.is_array() || list.size() > static_cast<std::size_t>(kMostStretches))
      throw InputError(fmt::format("genome: stretches: must be a list of up to {}", kMostStretches));
    for (const json& s : list) {
      Stretch& t = g.stretch[static_cast<std::size_t>(g.stretches++)];
      t.put = one_of<Put>(s, "put", kPutNames);
      t.rows = static_cast<std::int32_t>(whole_gene(s, "rows", -1, 3));
      t.start = whole_gene(s, "start", -kFar, kFar);
      t.length = whole_gene(s, "length", 1, kFar);
      t.period = whole_gene(s, "period", 0, kFar);
      t.value = real(s, "value");
    }
    g.V = whole_gene(j, "V", 0, kMostColumns);
    g.rows = whole_gene(j, "rows", 1, kMostRows);
    if (g.V > 0 && g.rows > kMostElements / g.V) throw InputError("genome: rows x V is too large");
    for (const json& x : j.value("row", json::array()))
      g.row.push_back(x.is_null() ? -INFINITY : x.get<double>());
    if (!g.row.empty() && std::ssize(g.row) != g.V) throw InputError("genome: row: has not V numbers");
    g.pitch_gap = whole_gene(j, "pitch_gap", 0, 4096);
    g.first = whole_gene(j, "first", 0, 64);
    g.max_blocks = whole_gene(j, "max_blocks", 0, 1 << 20);
    g.schedule = word_gene(j, "schedule");
    g.k = static_cast<std::int32_t>(whole_gene(j, "k", 1, 1024));
    return in_range(g);
  } catch (const json::exception& e) {
    throw InputError("genome: " + plain_words(e));
  }
}

std::string describe(const Genome& g) {
  if (!g.row.empty()) return fmt::format("a row of its own, {} x {}", g.rows, g.V);
  std::string s = fmt::format("{} offset {:g} spread {:g} gap {:g} period {}, {} x {}",
                              kBaseNames[static_cast<std::size_t>(g.base)], g.offset, g.spread, g.gap,
                              g.period, g.rows, g.V);
  for (int i = 0; i < g.stretches; ++i) {
    const Stretch& t = g.stretch[static_cast<std::size_t>(i)];
    s += fmt::format(", {} at {}+{}", kPutNames[static_cast<std::size_t>(t.put)], t.start, t.length);
    if (t.period > 0) s += fmt::format(" every {}", t.period);
  }
  return s;
}

}  // namespace assay::fuzz
