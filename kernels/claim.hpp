// What a variant promises, as data. A claim names an algorithm class; accuracy/bounds/bounds.hpp maps the names to
// a formula, so that no kernel can carry a private tolerance. A claim belongs to variant x dtype.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

enum class Algorithm { naive, safe, online };  // the paper's: naive subtracts no maximum
/// exp(x); exp(fl(x - m)); exp of x - m however it is rounded, as long as the error is at most |x - m| u.
enum class Shift { none, subtract, any };
/// expf; __expf; hexp of the 16-bit type; exp2f(fmaf(x, log2e, -(m * log2e))). An online kernel of the last
/// kind rescales by exp2f((m_lo - m_hi) * log2e) and ends with d *= exp2f(fmaf(m, log2e, -(m * log2e))).
enum class Exp { accurate, fast, half, exp2_fma };
/// Correctly rounded; __fdividef; a product with one correctly rounded reciprocal per row.
enum class Division { ieee, approximate, reciprocal };
/// log_softmax as (x - m) - log d, or as x - lse, or either.
enum class LogForm { shifted, absorb, any };
enum class Normalise { recomputed, kept };  // output exp taken with the final maximum, or an older one
enum class Internals { f32, f16, bf16 };    // the type all arithmetic is done in
/// What numerators are kept in between the exp and the division: the type of the arithmetic or, narrower, that
/// of the outputs.
enum class Numerators { arithmetic, output };
/// How scale x / temperature + bias is rounded: in any way, a scale folded into the exp too; in f32, every
/// operation on its own, from left to right; in f32, the product and the sum as one fma.
enum class LogitRounding { any, each, fma };
/// Square problems, such as attention scores: the rows are a multiple of V, and row r is the softmax of its
/// columns 0 to r mod V. What stands in the columns behind them: no, every row has all its columns; exactly
/// 0; nothing is promised, they may be left unwritten.
enum class Causal { no, zeros, lower };
enum class Determinism { not_guaranteed, run_to_run, gpu_to_gpu };
enum class Ties { smaller_index, larger_index, unspecified };
enum class Select { none, logits, probs };  // what top-k ranks by
/// A row of nothing but -inf; any: nothing is promised of it, and it is not judged.
enum class NegInfRows { nan, zero, any };
/// A row with +inf: NaN everywhere; NaN at +inf and 0 elsewhere; nothing is promised.
enum class PosInfRows { nan, inf_only, any };
enum class NanRows { nan, any };  // a row with a NaN: NaN everywhere; nothing is promised
/// Where top-k puts NaN; ignored: never taken, so that slots are left over (index -1) where k reaches them.
enum class NanOrder { first, last, any, ignored };

struct Policy {
  NegInfRows all_neg_inf = NegInfRows::nan;
  PosInfRows pos_inf = PosInfRows::nan;
  NanRows nan = NanRows::nan;
  NanOrder nan_order = NanOrder::last;
};

/// A height written as a formula of V, kept for as long as the process: what a declaration's text becomes.
class HeightFormula {
 public:
  virtual ~HeightFormula() = default;
  virtual std::int64_t at(std::int64_t V) const = 0;
  /// As it was written.
  virtual std::string_view text() const = 0;
};

/// Largest number of floating-point additions on a path from a term to the sum, as a function of V: a
/// variant's own lambda, or a declared formula. Empty where nothing is summed.
class Height {
 public:
  constexpr Height() = default;
  constexpr Height(std::nullptr_t) {}
  template <class F>
  requires std::convertible_to<F, std::int64_t (*)(std::int64_t)>
  constexpr Height(F f) : plain_(f) {}
  constexpr explicit Height(const HeightFormula& f) : formula_(&f) {}

  constexpr explicit operator bool() const { return plain_ || formula_; }
  /// The formula's text; empty for a variant's own lambda.
  std::string_view text() const { return formula_ ? formula_->text() : std::string_view{}; }
  constexpr std::int64_t operator()(std::int64_t V) const { return formula_ ? formula_->at(V) : plain_(V); }

 private:
  std::int64_t (*plain_)(std::int64_t) = nullptr;
  const HeightFormula* formula_ = nullptr;
};

/// Memory accesses per element of a row, as the algorithm counts them: a number, or a function of V where
/// rows that fit into registers are read once and longer ones again.
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
  /// Online: partial sums refer to a logit that may lie up to this many nats below their maximum (rescaling
  /// is put off until then), and are moved to the maximum at the end. 0: rescaled at once.
  double rescale_threshold = 0;
  Height height = {};
  /// Nobody declared the height: `height` is the most there can be, and what the kernel does is measured.
  bool any_height = false;
  /// Says nothing of rows on which its bound is too weak to tell right from wrong: there its records are
  /// `unsupported`. For variants of ours that show what 16-bit arithmetic, or one long chain, does; no
  /// declaration has a word for it.
  bool judgeable_rows_only = false;
  /// Added to the sum before the division: x / (d + epsilon).
  double epsilon = 0;
  Numerators numerators = Numerators::arithmetic;
  LogitRounding logits = LogitRounding::any;
  Causal causal = Causal::no;
  /// Results below the smallest normal number may come out as 0.
  bool ftz = false;
  Determinism determinism = Determinism::run_to_run;
  Policy policy = {};
  Select select = Select::none;
  Ties ties = Ties::unspecified;
  Accesses loads = 0;
  Accesses stores = 0;
  /// The outputs may lie where the logits are: nothing is read again once it was written over.
  bool in_place = false;
  /// A row's outputs depend on the row alone: the same bits at any place in any batch. A variant that splits
  /// its work by the number of rows says false.
  bool batch_invariant = true;
};

/// How many columns of the row are its own: all of them, or those up to the diagonal.
constexpr std::int64_t own_columns(const Claim& c, std::int64_t row, std::int64_t V) {
  return c.causal == Causal::no || V == 0 ? V : row % V + 1;
}

/// What is assumed of a kernel of which nothing was declared: fp32 arithmetic, any order of the sum, an exp
/// and a division as good as CUDA's documented ones, outputs that may keep an older maximum
/// (accuracy/bounds/BOUNDS.md section 6).
constexpr Claim undeclared_claim() {
  Claim c;
  c.algorithm = Algorithm::online;
  c.division = Division::approximate;
  c.normalise = Normalise::kept;
  c.log_form = LogForm::any;
  c.height = [](std::int64_t V) { return V; };
  c.any_height = true;
  c.determinism = Determinism::not_guaranteed;
  c.policy.nan_order = NanOrder::any;
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

}  // namespace assay
