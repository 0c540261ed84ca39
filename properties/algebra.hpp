// The kernels' ⊕ behind function pointers. The operator is compiled once per backend (algebra.cu); the
// properties are compiled once, know no compiler flag, and hold or fail for each algebra alike. Every
// function works on arrays, so that one launch on a GPU can carry thousands of cases.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

/// A normalizer outside any backend. The carrier of ⊕: m = -inf implies d = 0. Every value of the 16-bit
/// formats is exact in it.
struct Pair {
  float m = 0, d = 0;
};
void showValue(const Pair& p, std::ostream& os);

inline constexpr int kLanes = 32;

/// slot[left] = slot[left] ⊕ slot[right]. A tree over n leaves is n - 1 merges of n slots.
struct Merge {
  std::uint32_t left, right;
};

/// Trees one after another: tree t owns the leaves [first[t], first[t + 1]); its merges start at first[t] - t
/// and name slots counted from its first leaf. It has at least one leaf.
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
  Dtype format;  // of m, of d and of every operation
  Exp exp;
  void (*leaf_each)(const float* x, Pair* out, std::size_t n);
  void (*combine_each)(const Pair* a, const Pair* b, Pair* out, std::size_t n);
  void (*exp_each)(const float* t, float* out, std::size_t n);
  /// What every lane of a warp holds after its butterfly reduction; 32 pairs a warp.
  void (*butterfly_each)(const Pair* lanes, Pair* results, std::size_t warps);
  /// The value every merge of every tree left behind, in the order of Forest::merges.
  void (*evaluate)(const Forest& forest, Pair* values);
  /// d after n leaves of one value, merged one after another.
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
// in the 16-bit format. `symmetric` is the textbook's d_a e_a + d_b e_b, which no kernel uses: it is here to
// show why.
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

/// The select forms of every backend in this build.
std::vector<const Algebra*> select_forms();
/// The symmetric form of every backend in this build.
std::vector<const Algebra*> symmetric_forms();

/// 2^p: up to here the format counts exactly.
constexpr double exact_count(Dtype format) { return exp2i(assay::format(format).precision); }

inline bool is_identity(Pair p) { return std::isinf(p.m) && p.m < 0; }
/// Equal bits, or both NaN.
bool same(float a, float b);
/// m by value (+0 = -0), d bit for bit; NaN by class in both.
inline bool same(Pair a, Pair b) {
  return (a.m == b.m || (std::isnan(a.m) && std::isnan(b.m))) && same(a.d, b.d);
}

}  // namespace assay
