// SPDX-License-Identifier: Apache-2.0
// What a variant promises, as data. A claim names an algorithm class. accuracy/bounds/bounds.hpp maps the
// names to a formula, so no kernel can carry a tolerance of its own. A claim belongs to one variant and
// dtype.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "reference/ops.hpp"

namespace assay {

enum class Algorithm { naive, safe, online };  // as in the paper; naive subtracts no maximum
/// exp(x); exp(fl(x - m)); exp of x - m rounded in any way, if the error is at most |x - m| u.
enum class Shift { none, subtract, any };
/// expf; __expf; hexp of the 16-bit type; exp2f(fmaf(x, log2e, -(m * log2e))). An online kernel with exp2_fma
/// rescales by exp2f((m_lo - m_hi) * log2e) and ends with d *= exp2f(fmaf(m, log2e, -(m * log2e))).
enum class Exp { accurate, fast, half, exp2_fma };
/// Correctly rounded; __fdividef; product with one correctly rounded reciprocal per row.
enum class Division { ieee, approximate, reciprocal };
/// log_softmax as (x - m) - log d; as x - lse; either of them.
enum class LogForm { shifted, absorb, any };
enum class Normalise { recomputed, kept };  // output exp uses the final maximum, or an older one
enum class Internals { f32, f16, bf16 };    // the type of all arithmetic
/// The type of the numerators between exp and division: that of the arithmetic, or the narrower output type.
enum class Numerators { arithmetic, output };
/// How scale x / temperature + bias is rounded. any: in any way, also with the scale folded into the exp.
/// each: in f32, every operation on its own, from left to right. fma: in f32, product and sum as one fma.
enum class LogitRounding { any, each, fma };
/// Causal rows, as in attention scores: the number of rows is a multiple of V, and row r is the softmax of
/// its columns 0 to r mod V. no: every row has all its columns. zeros: the columns behind the diagonal are
/// exactly 0. lower: nothing is promised for them; they may be left unwritten.
enum class Causal { no, zeros, lower };
enum class Determinism { not_guaranteed, run_to_run, gpu_to_gpu };
enum class Ties { smaller_index, larger_index, unspecified };
/// The slots of top-k: the largest logit first, or its k elements in any order.
enum class SlotOrder { sorted, any };
enum class Select { none, logits, probs };  // the values that top-k ranks by
/// Result of a row that holds only -inf. any: nothing is promised, and the row is not judged.
enum class NegInfRows { nan, zero, any };
/// Result of a row with +inf: NaN everywhere; NaN at +inf and 0 elsewhere (an lse: +inf, which is exact);
/// nothing promised.
enum class PosInfRows { nan, inf_only, any };
enum class NanRows { nan, any };  // result of a row with NaN: NaN everywhere; nothing promised
/// Where top-k ranks NaN. ignored: NaN is never selected, so slots stay empty (index -1) if k is too large.
enum class NanOrder { first, last, any, ignored };

struct Policy {
  NegInfRows all_neg_inf = NegInfRows::nan;
  PosInfRows pos_inf = PosInfRows::nan;
  NanRows nan = NanRows::nan;
  NanOrder nan_order = NanOrder::last;
};

class Formula;

/// Largest number of floating-point additions on a path from a term to the sum, as a function of row length
/// V (for op topk_softmax: of the number of selected elements): a variant's own lambda, or a declared
/// formula. Empty if nothing is summed.
class Height {
 public:
  constexpr Height() = default;
  constexpr Height(std::nullptr_t) {}
  template <class F>
  requires std::convertible_to<F, std::int64_t (*)(std::int64_t)>
  constexpr Height(F f) : plain_(f) {}
  constexpr explicit Height(const Formula& f) : formula_(&f) {}

  constexpr explicit operator bool() const { return plain_ || formula_; }
  /// Text of the formula; empty for a variant's own lambda.
  std::string_view text() const;
  constexpr std::int64_t operator()(std::int64_t V) const { return formula_ ? of_formula(V) : plain_(V); }

 private:
  std::int64_t of_formula(std::int64_t V) const;

  std::int64_t (*plain_)(std::int64_t) = nullptr;
  const Formula* formula_ = nullptr;  // it lives as long as the process
};

/// Memory accesses per element of a row, as the algorithm counts them: a number, or a function of V if the
/// kernel reads short rows once (they fit into registers) and longer rows again.
class Accesses {
 public:
  constexpr Accesses(int of_every_row) : of_every_row_(of_every_row) {}
  template <class F>
  requires std::convertible_to<F, int (*)(std::int64_t)>
  constexpr Accesses(F f) : by_V_(f) {}

  constexpr int operator()(std::int64_t V) const { return by_V_ ? by_V_(V) : of_every_row_; }

 private:
  int of_every_row_ = 0;
  int (*by_V_)(std::int64_t) = nullptr;
};

struct Claim {
  Algorithm algorithm = Algorithm::safe;
  Shift shift = Shift::subtract;
  Exp exp = Exp::accurate;
  Division division = Division::ieee;
  Normalise normalise = Normalise::recomputed;
  Internals internals = Internals::f32;
  LogForm log_form = LogForm::shifted;
  /// Online: the reference logit of a partial sum may lie up to this many nats below the maximum, because
  /// rescaling is put off until then. At the end the sums are rescaled to the maximum. 0: rescaled at once.
  double rescale_threshold = 0;
  Height height = {};
  /// The height is not declared: `height` is the largest possible, and the kernel's own sum is measured.
  bool any_height = false;
  /// On rows where the bound is too weak to tell right from wrong, nothing is claimed, and the record is
  /// `unsupported`. For variants of this project that demonstrate 16-bit arithmetic or one long chain of
  /// additions. A declaration has no word for it.
  bool judgeable_rows_only = false;
  /// Added to the sum before the division: x / (d + epsilon).
  double epsilon = 0;
  Numerators numerators = Numerators::arithmetic;
  LogitRounding logits = LogitRounding::any;
  Causal causal = Causal::no;
  /// Results below the smallest normal number may be flushed to 0.
  bool ftz = false;
  Determinism determinism = Determinism::run_to_run;
  Policy policy = {};
  Select select = Select::none;
  Ties ties = Ties::unspecified;
  SlotOrder order = SlotOrder::sorted;
  Accesses loads = 0;
  Accesses stores = 0;
  /// The outputs may be written over the logits: no logit is read again after it was overwritten.
  bool in_place = false;
  /// A row's outputs depend on the row alone: the same bits at any place in any batch. False for a variant
  /// that splits its work by the number of rows.
  bool batch_invariant = true;
};

/// Number of columns that belong to the row: all, or those up to the diagonal.
constexpr std::int64_t own_columns(const Claim& c, std::int64_t row, std::int64_t V) {
  return c.causal == Causal::no || V == 0 ? V : row % V + 1;
}

/// The claim assumed of a kernel that declares nothing: fp32 arithmetic, any order of the sum, exp and
/// division as accurate as CUDA documents its own, outputs that may use an older maximum
/// (accuracy/bounds/BOUNDS.md section 6).
constexpr Claim undeclared_claim(Op op) {
  Claim c;
  c.algorithm = Algorithm::online;
  c.division = Division::approximate;
  c.normalise = Normalise::kept;
  c.log_form = LogForm::any;
  c.height = [](std::int64_t V) { return V; };
  c.any_height = true;
  c.determinism = Determinism::not_guaranteed;
  c.policy.nan_order = NanOrder::any;
  if (op == Op::lse) c.policy.pos_inf = PosInfRows::inf_only;
  c.batch_invariant = false;
  return c;
}

constexpr const char* name(Algorithm a) {
  return a == Algorithm::naive ? "naive" : a == Algorithm::safe ? "safe" : "online";
}
constexpr const char* name(Exp e) {
  return e == Exp::accurate ? "accurate" : e == Exp::fast ? "fast" : e == Exp::half ? "half" : "exp2_fma";
}
constexpr const char* name(Division d) {
  return d == Division::ieee ? "ieee" : d == Division::approximate ? "approximate" : "reciprocal";
}
constexpr const char* name(LogForm f) {
  return f == LogForm::shifted ? "shifted" : f == LogForm::absorb ? "absorb" : "any";
}
constexpr const char* name(Normalise n) { return n == Normalise::kept ? "kept" : "recomputed"; }
constexpr const char* name(Select s) {
  return s == Select::logits ? "logits" : s == Select::probs ? "probs" : "none";
}
constexpr const char* name(NegInfRows r) {
  return r == NegInfRows::zero ? "zero" : r == NegInfRows::nan ? "nan" : "any";
}
constexpr const char* name(PosInfRows r) {
  return r == PosInfRows::inf_only ? "inf_only" : r == PosInfRows::nan ? "nan" : "any";
}
constexpr const char* name(NanRows r) { return r == NanRows::nan ? "nan" : "any"; }
constexpr const char* name(NanOrder o) {
  return o == NanOrder::first  ? "first"
         : o == NanOrder::last ? "last"
         : o == NanOrder::any  ? "any"
                               : "ignored";
}
constexpr const char* name(Internals i) {
  return i == Internals::f32 ? "f32" : i == Internals::f16 ? "f16" : "bf16";
}
constexpr const char* name(Numerators n) { return n == Numerators::output ? "output" : "arithmetic"; }
constexpr const char* name(LogitRounding r) {
  return r == LogitRounding::each ? "each" : r == LogitRounding::fma ? "fma" : "any";
}
constexpr const char* name(Causal c) {
  return c == Causal::zeros ? "zeros" : c == Causal::lower ? "lower" : "no";
}
constexpr const char* name(Shift s) {
  return s == Shift::none ? "none" : s == Shift::subtract ? "subtract" : "any";
}
constexpr const char* name(Determinism d) {
  return d == Determinism::not_guaranteed ? "not_guaranteed"
         : d == Determinism::run_to_run   ? "run_to_run"
                                          : "gpu_to_gpu";
}
constexpr const char* name(Ties t) {
  return t == Ties::smaller_index  ? "smaller_index"
         : t == Ties::larger_index ? "larger_index"
                                   : "unspecified";
}
constexpr const char* name(SlotOrder o) { return o == SlotOrder::sorted ? "sorted" : "any"; }

}  // namespace assay
