// SPDX-License-Identifier: Apache-2.0
// The kernels' merge operator ⊕ behind function pointers. The operator is compiled once per backend
// (algebra.cu). The properties are compiled once, do not depend on compiler flags, and are checked on every
// algebra alike. Every function works on arrays, so that one launch on a GPU can carry thousands of cases.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// A normalizer (m, d) outside any backend; ⊕ works on these. m = -inf implies d = 0. Every value of the
/// 16-bit formats is exact in it.
struct Pair {
  float m = 0, d = 0;
};
void showValue(const Pair& p, std::ostream& os);

inline constexpr int kLanes = 32;

/// slot[left] = slot[left] ⊕ slot[right]. A tree over n leaves is n - 1 such merges of n slots.
struct Merge {
  std::uint32_t left, right;
};

/// A sequence of trees. Tree t owns the leaves [first[t], first[t + 1]), at least one. Its merges start at
/// first[t] - t, and their slots count from its first leaf.
struct Forest {
  std::vector<Pair> leaves;
  std::vector<Merge> merges;
  std::vector<std::uint32_t> first{0};

  std::size_t trees() const { return first.size() - 1; }
  void add(const std::vector<Pair>& tree_leaves, const std::vector<Merge>& tree_merges);
};

struct Algebra {
  const char* name;
  Backend backend;
  Dtype format;  // format of m, of d and of every operation
  Exp exp;
  void (*leaf_each)(const float* x, Pair* out, std::size_t n);
  void (*combine_each)(const Pair* a, const Pair* b, Pair* out, std::size_t n);
  void (*exp_each)(const float* t, float* out, std::size_t n);
  /// What every lane of a warp holds after its butterfly reduction; 32 pairs per warp.
  void (*butterfly_each)(const Pair* lanes, Pair* results, std::size_t warps);
  /// The result of every merge of every tree, in the order of Forest::merges.
  void (*evaluate)(const Forest& forest, Pair* values);
  /// d after n equal leaves, merged one after another.
  float (*serial_ones)(std::uint32_t n);

  static constexpr Pair identity{-std::numeric_limits<float>::infinity(), 0};
  Pair leaf(float x) const {
    Pair p;
    leaf_each(&x, &p, 1);
    return p;
  }
  Pair combine(Pair a, Pair b) const {
    Pair p;
    combine_each(&a, &b, &p, 1);
    return p;
  }
  float exp_of(float t) const {
    float e;
    exp_each(&t, &e, 1);
    return e;
  }
  void butterfly(const Pair* lanes, Pair* results) const { butterfly_each(lanes, results, 1); }
};

// `accurate` and `fast` are the kernels' select form. `f16` and `bf16` are the same form with every operation
// in the 16-bit format. `symmetric` is the textbook's d_a e_a + d_b e_b. No kernel uses it; the properties
// that it lacks show why.
namespace host {
extern const Algebra accurate, fast, narrow_f16, narrow_bf16, symmetric;
}
namespace host_fma {
extern const Algebra accurate, fast, narrow_f16, narrow_bf16, symmetric;
}
#if defined(ASSAY_WITH_CUDA)
namespace cuda {
extern const Algebra accurate, fast, narrow_f16, narrow_bf16, symmetric;
}
#endif

/// The select forms of all backends in this build.
std::vector<const Algebra*> select_forms();
/// The symmetric form of all backends in this build.
std::vector<const Algebra*> symmetric_forms();

/// 2^p: the format represents every integer count up to here exactly.
constexpr double exact_count(Dtype format) { return exp2i(assay::format(format).precision); }

inline bool is_identity(Pair p) { return std::isinf(p.m) && p.m < 0; }
/// Equal bits, or both NaN.
bool same(float a, float b);
/// True if m is equal by value (+0 = -0) and d bit for bit. In both, any NaN equals any NaN.
inline bool same(Pair a, Pair b) {
  return (a.m == b.m || (std::isnan(a.m) && std::isnan(b.m))) && same(a.d, b.d);
}

}  // namespace assay
