// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/inputs.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace assay::conformance {
namespace {

/// The neighbours of a row length at which a dispatch may change.
void around(std::set<std::int64_t>& sizes, std::int64_t V, std::int64_t reach) {
  for (std::int64_t d = -reach; d <= reach; ++d)
    if (V + d >= 0) sizes.insert(V + d);
}

}  // namespace

Tensor make_rows(const std::string& family, Dtype dtype, std::int64_t V, std::int64_t rows,
                 std::uint64_t seed) {
  const Family& known = family_named(family);
  // Few families have an empty row, and all empty rows are alike.
  return V == 0 ? Tensor(dtype, rows, 0) : make_input(known, dtype, V, rows, seed);
}

Case make_case(const std::string& family, const Variant& variant, std::int64_t V, std::int64_t rows,
               std::uint64_t seed) {
  return Case(family, make_rows(family, variant.dtype, V, rows, seed));
}

std::vector<std::int64_t> shape_sizes(Extent extent) {
  std::set<std::int64_t> sizes;
  if (extent == Extent::quick) {
    for (std::int64_t V = 0; V <= 130; ++V) sizes.insert(V);
    for (std::int64_t step : {32, 96, 160, 224})
      for (std::int64_t V = step; V <= 1100; V += 128) around(sizes, V, 1);
    for (std::int64_t V = 256; V <= 8192; V *= 2) around(sizes, V, 2);
    for (std::int64_t V : {1027, 1536, 3001, 4099, 6240, 12289, 32771, 50257, 151936}) sizes.insert(V);
    return {sizes.begin(), sizes.end()};
  }
  for (std::int64_t V = 0; V <= 4096; ++V) sizes.insert(V);
  const int last = extent == Extent::full ? 20 : 17;
  for (int k = 12; k <= last; ++k) around(sizes, std::int64_t{1} << k, 2);
  for (std::int64_t vector : {1, 2, 4, 8})
    for (std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
      around(sizes, vector * threads, 1);
      if (extent == Extent::full)
        for (std::int64_t times : {3, 5, 7}) around(sizes, times * vector * threads, 1);
    }
  for (std::int64_t odd : {3, 5, 7})
    for (std::int64_t V = odd * 32; V <= 1 << 16; V *= 2) around(sizes, V, 1);
  for (std::int64_t prime : {4099, 5003, 7919, 10007, 16411, 20011, 32771, 65537, 104729})
    sizes.insert(prime);
  around(sizes, 12288, 1);
  around(sizes, 14080, 1);
  for (std::int64_t V : {6240, 12287, 40001}) sizes.insert(V);
  // Vocabulary sizes of published models, padded ones included.
  for (std::int64_t V :
       {21128,  28996,  30522,  32000,  32064,  32128,  49152,  49408,  50257,  50265,  50304,  50432,
        51200,  51865,  64000,  65024,  92544,  100352, 102400, 128000, 128256, 129280, 131072, 151552,
        151936, 152064, 163840, 200064, 201088, 202048, 250112, 250880, 256000, 262144})
    sizes.insert(V);
  // More than a block of 1024 threads with 256 elements each.
  for (std::int64_t V : {262144, 300007, 524296}) sizes.insert(V);
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> sizes_between(Extent extent) {
  std::set<std::int64_t> sizes;
  if (extent == Extent::quick) {
    // 7 and 61 share no divisor with a power of two, so every remainder occurs once per cycle.
    for (std::int64_t V = 131; V <= 4096; V += V < 520 ? 1 : V < 1100 ? 7 : 61) sizes.insert(V);
    for (const std::int64_t V : shape_sizes(extent)) sizes.erase(V);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> drawn_sizes(Extent extent, std::uint64_t seed) {
  const bool quick = extent == Extent::quick;
  std::vector<std::int64_t> sizes;
  for (std::int64_t octave = 128; octave < (quick ? 1 << 14 : 1 << 17); octave *= 2) {
    const std::int64_t width = quick ? octave : octave / 2;
    for (std::int64_t from = octave; from < 2 * octave; from += width) {
      std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(from));
      std::int64_t V = from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(width));
      if (sizes.size() % 2 == 1)
        V -= V % 8;
      else if (V % 4 == 0)
        ++V;
      sizes.push_back(V);
    }
  }
  return sizes;
}

}  // namespace assay::conformance
