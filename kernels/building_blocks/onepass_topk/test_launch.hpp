// SPDX-License-Identifier: Apache-2.0
// What the tests of onepass_topk's paths share: rows of many kinds, and a launch whose columns are compared
// with a stable sort.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#define ASSAY_BACKEND host
#include "kernels/building_blocks/onepass_topk/ladder.cuh"

namespace assay::host::onepass {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Fill = std::function<float(std::int64_t column, std::mt19937& random)>;
struct Filling {
  const char* name;
  Fill of;
};
inline float normal(std::mt19937& random) { return std::normal_distribution<float>()(random); }

inline const Filling kFillings[] = {
    {"normal", [](std::int64_t, std::mt19937& r) { return normal(r); }},
    {"constant", [](std::int64_t, std::mt19937&) { return 1.5f; }},
    {"three values", [](std::int64_t, std::mt19937& r) { return static_cast<float>(r() % 3); }},
    {"ascending", [](std::int64_t i, std::mt19937&) { return static_cast<float>(i) / 1024; }},
    {"descending", [](std::int64_t i, std::mt19937&) { return static_cast<float>(-i) / 1024; }},
    {"steps up", [](std::int64_t i, std::mt19937& r) { return static_cast<float>(i / 1000) + normal(r); }},
    {"-inf alone", [](std::int64_t, std::mt19937&) { return -kInfinity; }},
    {"mostly -inf", [](std::int64_t i, std::mt19937& r) { return i % 97 == 5 ? normal(r) : -kInfinity; }},
    {"mostly NaN", [](std::int64_t i, std::mt19937& r) { return i % 500 == 7 ? normal(r) : kNan; }},
    {"signalling NaN",
     [](std::int64_t i, std::mt19937& r) {
       return i % 5 == 2 ? std::numeric_limits<float>::signaling_NaN() : normal(r);
     }},
    // There is room for the ties of a tile. What follows is larger, fills the room, and is not enough.
    {"ties, then few larger ones",
     [](std::int64_t i, std::mt19937&) {
       return i >= 3000 && i < 3040 ? 2.0f : i < 1920 && i % 4 == 0 ? 1.0f : 0.0f;
     }},
    {"ties of 16 bits, then few larger ones",
     [](std::int64_t i, std::mt19937&) {
       return i >= 6000 && i < 6040 ? 2.0f : i < 3840 && i % 8 == 0 ? 1.0f : 0.0f;
     }},
    // So many lanes of a warp have larger ones that it looks like ties; but they are fewer than 30.
    {"ties, then few larger ones in a later tile",
     [](std::int64_t i, std::mt19937&) {
       const bool first = i < 512 && i / 4 % 32 < 10, later = i >= 6016 && i < 6016 + 27 * 4;
       return i % 4 != 0 ? 0.0f : first ? 1.0f : later ? 2.0f : 0.0f;
     }},
    {"equal and negative", [](std::int64_t, std::mt19937&) { return -2.5f; }},
    {"ties of negative logits",
     [](std::int64_t i, std::mt19937& r) {
       return -1.0f - static_cast<float>(i % 7 == 3 ? r() % 3 : r() % 2);
     }},
    // As in a vocabulary that is sorted by frequency: one part of the row has all of the largest.
    {"larger ones first",
     [](std::int64_t i, std::mt19937& r) {
       return 2 * normal(r) - 4 * std::log2(1 + static_cast<float>(i) / 200);
     }},
    // Bins of equal width between the smallest and the largest maximum hold too many of the rest.
    {"a few far above the rest",
     [](std::int64_t i, std::mt19937& r) { return i % 1000 == 3 ? 5e4f : 1 + normal(r) / 64; }},
    {"far apart",
     [](std::int64_t i, std::mt19937& r) { return std::ldexp(normal(r), static_cast<int>(i % 29) - 14); }},
    {"both zeros", [](std::int64_t, std::mt19937& r) { return r() % 2 ? 0.0f : -0.0f; }},
    {"some +inf", [](std::int64_t i, std::mt19937& r) { return i % 11 == 3 ? kInfinity : normal(r); }},
};

/// The columns of the k largest; of equal ones the smaller first, NaN last, -1 after the last element.
template <class T>
std::vector<int> wanted(const T* x, std::int64_t V, int k) {
  std::vector<int> order(static_cast<std::size_t>(V));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return rank_key(to_float(x[a])) > rank_key(to_float(x[b])); });
  order.resize(static_cast<std::size_t>(k), -1);
  return order;
}

template <class T>
struct Launch {
  std::vector<T> logits, values;
  std::vector<int> indices;
  std::vector<float> m, d;
  std::vector<double> workspace;
  Problem problem;
  Buffers buffers;

  /// The first row begins `offset` elements after an aligned address.
  Launch(const Fill& fill, std::int64_t rows, std::int64_t V, int k, std::size_t offset) {
    std::mt19937 random(1);
    logits.resize(offset + static_cast<std::size_t>(rows * V) + 1);
    for (std::int64_t i = 0; i < rows * V; ++i)
      logits[offset + static_cast<std::size_t>(i)] = from_float<T>(fill(i % V, random));
    values.resize(static_cast<std::size_t>(rows * k));
    indices.assign(static_cast<std::size_t>(rows * k), -7);
    m.resize(static_cast<std::size_t>(rows));
    d.resize(static_cast<std::size_t>(rows));
    problem.op = Op::softmax_topk;
    problem.in = problem.out = DtypeOf<T>::value;
    problem.rows = rows;
    problem.V = problem.in_pitch = V;
    problem.out_pitch = problem.k = k;
    workspace.resize(static_cast<std::size_t>(rows + 1) + TopkLadder<Accurate>::workspace_bytes(problem) / 8);
    buffers.logits = logits.data() + offset;
    buffers.probs = values.data();
    buffers.indices = indices.data();
    buffers.m = m.data();
    buffers.d = d.data();
    buffers.workspace = workspace.data();
  }
  void expect_order(const char* what) const {
    for (std::int64_t r = 0; r < problem.rows; ++r) {
      const auto* const from = indices.data() + r * problem.k;
      ASSERT_EQ(wanted(static_cast<const T*>(buffers.logits) + r * problem.V, problem.V, problem.k),
                std::vector<int>(from, from + problem.k))
          << what << ", V = " << problem.V << ", k = " << problem.k << ", row " << r;
    }
  }
  void expect_normalizers_of(const Launch& other, const char* what) const {
    for (std::size_t r = 0; r < m.size(); ++r) {
      EXPECT_EQ(std::isnan(d[r]), std::isnan(other.d[r])) << what;
      if (std::isnan(d[r])) continue;
      EXPECT_EQ(m[r], other.m[r]) << what;
      EXPECT_NEAR(d[r], other.d[r], 1e-5f * other.d[r]) << what;
    }
  }
};

}  // namespace assay::host::onepass
