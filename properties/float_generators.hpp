// SPDX-License-Identifier: Apache-2.0
// RapidCheck generators over the bit patterns of a format. Exponents are uniform, so every magnitude is
// equally likely. Zeros, subnormals and extremes come often; infinities and NaN on request. A value shrinks
// to rounder values of its own class: a counterexample in the subnormals stays in the subnormals.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "properties/algebra.hpp"
#include "reference/formats.hpp"

namespace assay {

enum class FloatClass { zero, subnormal, normal, negative_infinity, positive_infinity, nan };
inline constexpr int kFloatClasses = 6;
const char* name(FloatClass c);

/// One value of a format.
struct Float {
  Dtype format = Dtype::f32;
  std::uint64_t bits = 0;
  double value() const { return decode(format, bits); }
  float as_float() const { return static_cast<float>(value()); }
  bool operator==(const Float&) const = default;
};
void showValue(const Float& x, std::ostream& os);
FloatClass class_of(Float x);

/// A stream of random numbers. All generators here are written with it.
struct Draw {
  rc::Random random;
  std::uint64_t bits() { return random.next(); }
  std::uint64_t below(std::uint64_t n) { return random.next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  double between(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(bits() >> 11) * 0x1p-53;
  }
};

/// Draws its seed from the running property. A failing example keeps its seed: it is not shrunk.
inline Draw draw_more() { return Draw{rc::Random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()))}; }

struct Specials {
  bool infinities = false;
  bool nan = false;
};
Float draw_float(Draw& draw, Dtype format, Specials specials);
rc::Gen<Float> floats(Dtype format, Specials specials = {});

/// Rounder values of the same class, the roundest first. Shrinking always ends: each is smaller in a
/// well-founded order.
std::vector<Float> rounder(Float x);

/// What a row of logits is designed to attack.
enum class Structure {
  uniform,      // any finite value: differences overflow, exps underflow
  moderate,     // within 20 of 0: every term counts
  equal_runs,   // few distinct values in long runs: ties, exact counts
  ascending,    // the maximum changes at every step: each step rescales
  ramp,         // one ulp apart: exps close to 1
  huge,         // near the largest finite value: differences are 0 or enormous
  overflow,     // beyond the range of exp on either side: e^x overflows or vanishes, e^(x - m) may not
  mixed,        // every magnitude from subnormal to huge in one row
  masked,       // moderate with runs of -inf, often a whole prefix; at least one finite value
  all_neg_inf,  // nothing to sum
  poisoned,     // moderate with NaN or +inf somewhere
};
inline constexpr int kStructures = 11;
const char* name(Structure s);
/// The structures whose rows have a finite maximum.
inline constexpr Structure kFiniteMaximum[] = {
    Structure::uniform, Structure::moderate, Structure::equal_runs, Structure::ascending, Structure::ramp,
    Structure::huge,    Structure::overflow, Structure::mixed,      Structure::masked};

struct Row {
  Structure structure = Structure::moderate;
  std::vector<Float> logits;  // never empty; all of one format

  Dtype format() const { return logits.front().format; }
  bool has(FloatClass c) const;
};
void showValue(const Row& row, std::ostream& os);

inline constexpr Dtype kLogitFormats[] = {Dtype::f16, Dtype::bf16, Dtype::f32};

/// Rows of one of the structures in one of the formats. They have up to 1 + size logits, or `longest` at size
/// 100. A row shrinks by losing logits, then by rounding them. It keeps what its structure promises: a row
/// with -inf stays masked, a poisoned row keeps its NaN or +inf, and each value stays in its class.
rc::Gen<Row> rows(std::vector<Structure> structures,
                  std::vector<Dtype> formats = {std::begin(kLogitFormats), std::end(kLogitFormats)},
                  std::size_t longest = 100);

/// The structure of the row, and the classes of its values.
std::vector<std::string> tags_of(const Row& row);
/// Tags the running case with these tags.
void classify(const Row& row);

// RapidCheck generators of normalizers (m, d).

/// any: every valid normalizer. counts: m finite and 1 <= d <= 2^p, as a sum of at most 2^p exps has; p is
/// the precision of the format (f32 24, f16 11, bf16 8).
enum class Carrier { any, counts };

/// n pairs of values of the format. Most maxima are close enough to affect each other, and some tie.
rc::Gen<std::vector<Pair>> drawn_pairs(int n, Carrier carrier, Dtype format);

}  // namespace assay
