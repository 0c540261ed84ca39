#include "accuracy/conformance/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <set>

#include "reference/error.hpp"

namespace assay::conformance {
namespace {

constexpr Family kMore[] = {
    {kShifted, "-1000 + N(0, 1): a maximum or padding that starts at 0 leaves no exp above 0."},
    {kSameHead,
     "The first 16 logits of every row are the same: results cached by a fingerprint of the head."},
    {kLowest, "The lowest finite number and -inf: a test for -inf, or an empty maximum, that is a number."},
    {kWidths, "The largest logits beside powers of two: an index that is too narrow, or that means none."},
    {kMagnitudes, "Every logit near -1e5, -1e6 ... -1e38: a finite stand-in for -inf that is too small."},
    {kMedley,
     "Each row of another family, special rows between ordinary ones: what a row leaves for the next."},
};

/// Rows next to -inf: all of them the lowest finite number; but one; every other one -inf; the last alone
/// finite.
Tensor lowest(Dtype dtype, std::int64_t V, std::int64_t rows) {
  Tensor t(dtype, rows, V);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < V; ++j) {
      double x = -max_finite(dtype);
      if (r % 4 == 1 && j == V / 2) x = -1;
      if ((r % 4 == 2 && j % 2 == 1) || (r % 4 == 3 && j + 1 < V))
        x = -std::numeric_limits<double>::infinity();
      t.set(r, j, x);
    }
  return t;
}

Tensor widths(Dtype dtype, std::int64_t V, std::int64_t rows) {
  std::set<std::int64_t> columns = {V - 1};
  for (std::int64_t edge = 4; edge <= V; edge *= 2) {
    columns.insert(edge - 1);
    if (edge < V) columns.insert(edge);
  }
  const std::vector<std::int64_t> all(columns.rbegin(), columns.rend());
  Tensor t(dtype, rows, V);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < V; ++j) t.set(r, j, -8 - 0.125 * static_cast<double>(j * 7 % 16));
    for (std::size_t n = 0; n < all.size(); ++n)
      t.set(r, all[(n + 5 * static_cast<std::size_t>(r)) % all.size()], 8 - 0.25 * static_cast<double>(n));
  }
  return t;
}

/// Row e ends just inside 10^e; its logits are more than a thousand apart, so that the largest is all there
/// is.
Tensor magnitudes(Dtype dtype, std::int64_t V, std::int64_t rows) {
  Tensor t(dtype, rows, V);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double size =
        std::min(max_finite(dtype), 0.999 * std::pow(10.0, static_cast<double>(5 + r % kMagnitudeRows)));
    for (std::int64_t j = 0; j < V; ++j)
      t.set(r, j, -size * (1 - 0.0125 * static_cast<double>((j + 3) * 5 % 8)));
  }
  return t;
}

constexpr const char* kOfMedley[] = {"normal_1", "nan",         "normal_10", "pos_inf",  "row_encoded",
                                     "ties",     "all_neg_inf", "normal_1",  "overflow", "masked"};

Tensor medley(Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed) {
  Tensor all(dtype, rows, V);
  if (V == 0) return all;
  constexpr std::int64_t n = std::size(kOfMedley);
  for (std::int64_t f = 0; f < std::min(n, rows); ++f) {
    const Family* family = find_family(kOfMedley[f]);
    if (!family || !applies(*family, dtype, V)) family = find_family("normal_1");
    const Tensor some =
        make_input(*family, dtype, V, (rows - f + n - 1) / n, seed + static_cast<std::uint64_t>(f));
    for (std::int64_t r = f; r < rows; r += n)
      std::memcpy(all.row(r), some.row(r / n), static_cast<std::size_t>(V) * size_of(dtype));
  }
  return all;
}

/// Neighbours of a row length where a dispatch may change.
void around(std::set<std::int64_t>& sizes, std::int64_t V, std::int64_t reach) {
  for (std::int64_t d = -reach; d <= reach; ++d)
    if (V + d >= 0) sizes.insert(V + d);
}

}  // namespace

std::span<const Family> more_families() { return kMore; }

Tensor make_rows(const std::string& family, Dtype dtype, std::int64_t V, std::int64_t rows,
                 std::uint64_t seed) {
  if (const Family* f = find_family(family)) {
    // Few families have an empty row, where there is nothing to tell them apart.
    if (V == 0) return Tensor(dtype, rows, 0);
    return make_input(*f, dtype, V, rows, seed);
  }
  if (family == kLowest) return lowest(dtype, V, rows);
  if (family == kWidths) return V == 0 ? Tensor(dtype, rows, 0) : widths(dtype, V, rows);
  if (family == kMagnitudes) return magnitudes(dtype, V, rows);
  if (family == kMedley) return medley(dtype, V, rows, seed);
  if (family != kShifted && family != kSameHead) throw InputError("unknown family " + family);
  const Family& normal = *find_family("normal_1");
  // The dtype of the normal rows holds what is added to them.
  Tensor t = V == 0 ? Tensor(dtype, rows, 0) : make_input(normal, dtype, V, rows, seed);
  if (family == kShifted) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < V; ++j) t.set(r, j, t.at(r, j) - 1000);
  } else {
    const Tensor head = make_input(normal, dtype, 16, 1, 1);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < std::min<std::int64_t>(V, 16); ++j) t.set(r, j, head.at(0, j));
  }
  return t;
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
  // Vocabularies of published models, padded ones among them.
  for (std::int64_t V :
       {21128,  28996,  30522,  32000,  32064,  32128,  49152,  49408,  50257,  50265,  50304,  50432,
        51200,  51865,  64000,  65024,  92544,  100352, 102400, 128000, 128256, 129280, 131072, 151552,
        151936, 152064, 163840, 200064, 201088, 202048, 250112, 250880, 256000, 262144})
    sizes.insert(V);
  // Past a block of 1024 threads with 256 elements each.
  for (std::int64_t V : {262144, 300007, 524296}) sizes.insert(V);
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> sizes_between(Extent extent) {
  std::set<std::int64_t> sizes;
  if (extent == Extent::quick) {
    // 7 and 61 share no divisor with any power of two: every remainder comes once in so many steps.
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
