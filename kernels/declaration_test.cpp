// SPDX-License-Identifier: Apache-2.0
// Declarations: each word changes its own term and no other; an invalid declaration is refused with a line
// that names the word; and the text of a claim gives the claim back.
#include "kernels/declaration.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kernels/formula.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

Variant stranger() {
  Variant v;
  v.variant = "theirs";
  v.backend = Backend::plugin;
  v.claim = undeclared_claim(v.op);
  v.limits = undeclared_limits();
  v.writes_normalizer = false;
  v.declared = false;
  return v;
}

Variant declared(std::string_view text) {
  Variant v = stranger();
  apply_declaration(text, v);
  return v;
}

/// The line of the error, or "" if there is none.
std::string refusal_of_declaration(std::string_view text) {
  Variant v = stranger();
  try {
    apply_declaration(text, v);
  } catch (const InputError& e) {
    EXPECT_EQ(declaration_of(v), "") << "a refused declaration changed something";
    EXPECT_FALSE(v.declared);
    return e.what();
  }
  return "";
}

/// Every term of a variant in words. The height is given by its values.
std::string all_terms(const Variant& v) {
  std::string s = declaration_of(v);
  for (std::int64_t V : {0, 1, 2, 1000, 100000}) s += " " + std::to_string(v.claim.height(V));
  return s;
}

bool of_the_call(std::string_view pair) {
  for (const char* word :
       {"in_place",   "normalizer", "max_V",        "min_V",   "min_rows",  "max_rows", "rows_multiple",
        "V_multiple", "V_in",       "max_elements", "max_abs", "alignment", "dense",    "finite",
        "stream",     "max_k",      "all_neg_inf",  "pos_inf", "nan=",      "causal"})
    if (pair.starts_with(word)) return true;
  return false;
}

TEST(Declaration, ChangesExactlyTheNamedTerm) {
  const std::string heights = " 0 1 2 1000 100000";
  EXPECT_EQ(all_terms(stranger()), heights);
  for (const char* pair : {"algorithm=safe",
                           "shift=any",
                           "exp=fast",
                           "exp=exp2_fma",
                           "division=ieee",
                           "division=reciprocal",
                           "normalise=recomputed",
                           "internals=f16",
                           "internals=bf16",
                           "log_form=shifted",
                           "log_form=absorb",
                           "rescale_threshold=8.5",
                           "causal=zeros",
                           "causal=lower",
                           "ftz=yes",
                           "determinism=run_to_run",
                           "determinism=gpu_to_gpu",
                           "ties=smaller_index",
                           "ties=larger_index",
                           "select=logits",
                           "select=probs",
                           "all_neg_inf=zero",
                           "all_neg_inf=any",
                           "pos_inf=inf_only",
                           "pos_inf=any",
                           "nan=any",
                           "nan_order=first",
                           "nan_order=last",
                           "in_place=yes",
                           "batch_invariant=yes",
                           "normalizer=yes",
                           "max_V=65536",
                           "min_V=0",
                           "min_V=32",
                           "min_rows=0",
                           "min_rows=8",
                           "max_rows=65535",
                           "rows_multiple=4",
                           "V_in={64, 128, 1024}",
                           "max_elements=2147483647",
                           "max_abs=1e+20",
                           "V_multiple=8",
                           "alignment=16",
                           "dense=yes",
                           "finite=yes",
                           "stream=default",
                           "max_k=64"}) {
    const Variant v = declared(pair);
    EXPECT_EQ(all_terms(v), pair + heights);
    EXPECT_EQ(v.declared, !of_the_call(pair)) << pair;
  }
  // How a kernel is called does not say how it computes.
  EXPECT_FALSE(declared("dense=yes; max_V=2147483647; normalizer=yes; stream=default").declared);
  const Variant tree = declared("height=V/256+13");
  EXPECT_EQ(all_terms(tree), "height=V/256+13 0 14 14 17 404");
}

TEST(Declaration, NaiveBringsAlongWhatItMeans) {
  for (const char* text : {"algorithm=naive", "shift=none", "shift=none algorithm=naive"}) {
    const Variant v = declared(text);
    EXPECT_EQ(v.claim.algorithm, Algorithm::naive) << text;
    EXPECT_EQ(v.claim.shift, Shift::none) << text;
    EXPECT_EQ(v.claim.normalise, Normalise::recomputed) << text;
    EXPECT_EQ(v.claim.policy.pos_inf, PosInfRows::inf_only) << text;
    EXPECT_EQ(declaration_of(v), "algorithm=naive") << text;
  }
  EXPECT_EQ(declared("algorithm=naive pos_inf=nan").claim.policy.pos_inf, PosInfRows::nan);
}

TEST(Declaration, ReadsPairsApartByAnyWhiteSpaceOrSemicolons) {
  const Variant v = declared(";; exp = fast;\n\theight = V / 256 + 13  ties=smaller_index ;max_V=7;");
  EXPECT_EQ(v.claim.exp, Exp::fast);
  EXPECT_EQ(v.claim.height(512), 15);
  EXPECT_EQ(v.claim.ties, Ties::smaller_index);
  EXPECT_EQ(v.limits.max_V, 7);
  Variant none = stranger();
  apply_declaration("  ; \n", none);
  EXPECT_FALSE(none.declared);
}

TEST(Declaration, RefusesWhatItDoesNotKnowByName) {
  const std::vector<std::pair<const char*, const char*>> bad = {
      {"min_V=-1", "declaration: min_V: '-1' is no integer from 0"},
      {"min_V=9; max_V=8", "declaration: min_V: 9 exceeds max_V=8"},
      {"tolerance=1e-3", "'tolerance'"},
      {"exp", "'exp'"},
      {"exp=", "exp: has no value"},
      {"=fast", "'=fast'"},
      {"exp=slow", "exp: 'slow' is none of accurate, fast, half, exp2_fma"},
      {"exp=fast exp=fast", "exp: is given twice"},
      {"max_V=-1", "max_V"},
      {"max_V=0", "max_V"},
      {"max_V=99999999999999999999", "max_V"},
      {"max_V=12x", "max_V"},
      {"V_multiple=0", "V_multiple"},
      {"alignment=24", "alignment: '24' is no power of two"},
      {"alignment=512", "alignment"},
      {"max_k=0", "max_k"},
      {"ftz=1", "ftz: '1' is neither yes nor no"},
      {"rescale_threshold=-1", "rescale_threshold"},
      {"rescale_threshold=nan", "rescale_threshold"},
      {"rescale_threshold=1e9", "rescale_threshold"},
      {"algorithm=safe rescale_threshold=8", "rescale_threshold"},
      {"algorithm=naive shift=subtract", "shift"},
      {"algorithm=safe shift=none", "shift"},
      {"algorithm=naive normalise=kept", "normalise"},
      {"exp=half", "exp: half needs"},
      {"exp=fast internals=f16", "exp"},
      {"exp=exp2_fma shift=any", "exp"},
      {"select=none", "select"},
      {"height=", "height: has no value"},
      {"height=V+", "height"},
      {"height=W", "height"},
      {"height=V V", "height: an operator is missing"},
      {"height=(V", "height: ')' is missing"},
      {"height=max(V)", "height: ',' is missing"},
      {"height=-1", "height"},
      {"height=V-100", "height: it is negative at V = 1"},
      {"height=V*V", "height"},
      {"height=1/(V/5-1)", "height: a division by zero, a logarithm of 0 or an overflow at V = 1"},
      {"height=log2(V-1)", "height"},
      {"height=9999999999999999999", "height: a number is too large"},
      {"height=V*4611686018427387904*2", "height"},
      {"height=1000", "height: it is 1000 at V = 1: no sum of 1 terms is that high"},
  };
  for (const auto& [text, words] : bad) {
    const std::string line = refusal_of_declaration(text);
    EXPECT_NE(line.find(words), std::string::npos) << text << " gives: " << line;
    EXPECT_TRUE(line.starts_with("declaration: ")) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_FALSE(refusal_of_declaration("height=" + std::string(3000, '(')).empty());
  EXPECT_FALSE(refusal_of_declaration("height=" + std::string(900, '(')).empty());
  EXPECT_FALSE(refusal_of_declaration(std::string(20000, ' ')).empty());
  EXPECT_FALSE(refusal_of_declaration(std::string("exp=f\0st", 8)).empty());
}

TEST(Declaration, NamesTheNearestWordOrAll) {
  const auto ends = [](const char* text, const std::string& end) {
    EXPECT_TRUE(refusal_of_declaration(text).ends_with(end)) << refusal_of_declaration(text);
  };
  ends("exq=fast", "'exq': is no word of a declaration: is exp meant (accurate | fast | half | exp2_fma)?");
  ends("heigth=V", "is height meant (a formula of V)?");
  ends("maxV=7", "is max_V meant (1 or more)?");
  ends("normalize=kept", "is normalise meant (recomputed | kept)?");
  // Two common letters of three are not similar enough for a suggestion.
  for (const char* text : {"tolerance=1e-3", "abc=1"}) {
    EXPECT_NE(refusal_of_declaration(text).find("the words are algorithm, shift, exp, "), std::string::npos)
        << refusal_of_declaration(text);
    EXPECT_TRUE(refusal_of_declaration(text).ends_with(", finite, k_up_to_V, max_k"))
        << refusal_of_declaration(text);
  }
  EXPECT_NE(refusal_of_declaration(std::string(9000, 'a') + "=1").find("the words are "), std::string::npos);
}

TEST(Declaration, FormulasAreIntegersRoundedUp) {
  const auto at = [](const char* text, std::int64_t V) { return height_formula(text)(V); };
  EXPECT_EQ(at("V", 1000), 1000);
  EXPECT_EQ(at("V-1", 1000), 999);
  EXPECT_EQ(at("V/3", 10), 4);
  EXPECT_EQ(at("V-V/3-1+1", 10), 6);  // left to right
  EXPECT_EQ(at("V-(V/3-1)", 10), 7);
  EXPECT_EQ(at("log2(V)", 1), 0);
  EXPECT_EQ(at("log2(V)", 1024), 10);
  EXPECT_EQ(at("log2(V)", 1025), 11);
  EXPECT_EQ(at("min(V, 7, log2(V)+1)", 100), 7);
  EXPECT_EQ(at("max(V/1024, 2) + 3*4", 100), 14);
  EXPECT_EQ(at("V-1", 0), 0) << "nothing is summed";
  EXPECT_EQ(height_formula("V/2").text().data(), height_formula("V/2").text().data());
  // A row length that was not tried when the formula was read: its height is one that no sum has, so it is
  // refused where it is used.
  EXPECT_EQ(at("V*268435456/268435456", std::int64_t{1} << 40), -1);
}

TEST(Declaration, ComesBackFromItsText) {
  for (const char* text : {"", "exp=fast; height=V/256+13; ties=smaller_index; max_V=65536",
                           "algorithm=naive; division=ieee", "internals=bf16; exp=half; height=log2(V)+1",
                           "rescale_threshold=0.1; normalizer=yes; alignment=16; dense=yes",
                           "epsilon=1e-6; exp=fast", "numerators=output; algorithm=safe"}) {
    const Variant v = declared(text);
    EXPECT_EQ(all_terms(declared(declaration_of(v))), all_terms(v)) << text;
  }
}

TEST(Declaration, OneWordIsReadAlone) {
  EXPECT_EQ(declared_value("exp=fast; causal=lower; height=V / 256 + 13", "causal"), "lower");
  EXPECT_EQ(declared_value("height=V / 256 + 13 causal=zeros", "height"), "V / 256 + 13");
  EXPECT_EQ(declared_value("exp=fast", "causal"), "");
  EXPECT_EQ(declared_value("", "causal"), "");
}

TEST(Declaration, CausalIsOfASoftmax) {
  Variant v = declared("causal=zeros");
  refuse_idle_words(v);
  v.op = Op::lse;
  EXPECT_THROW(refuse_idle_words(v), InputError);
  EXPECT_NE(refusal_of_declaration("causal=yes").find("'yes' is none of no, zeros, lower"),
            std::string::npos);
  EXPECT_EQ(own_columns(v.claim, 12, 5), 3);
  EXPECT_EQ(own_columns(stranger().claim, 12, 5), 5);
}

TEST(Declaration, HelpNamesEveryWord) {
  const std::string help = declaration_words();
  for (const char* word : {"algorithm=", "height=", "ftz=", "max_k=", "nan_order="})
    EXPECT_NE(help.find(word), std::string::npos) << word;
}

TEST(Declaration, EpsilonIsASmallNumber) {
  EXPECT_EQ(declared("epsilon=1e-6").claim.epsilon, 1e-6);
  EXPECT_EQ(declaration_of(declared("epsilon=0.000001")), "epsilon=1e-6");
  EXPECT_EQ(declaration_of(declared("epsilon=1e-12")), "epsilon=1e-12");
  EXPECT_EQ(declaration_of(declared("epsilon=0.01")), "epsilon=0.01");
  EXPECT_EQ(declaration_of(declared("epsilon=0")), "");
  for (const char* text : {"epsilon=-1e-6", "epsilon=0.1", "epsilon=nan", "epsilon=1e-6f", "epsilon=inf"})
    EXPECT_NE(refusal_of_declaration(text).find("is no number from 0 to 0.01"), std::string::npos) << text;
}

TEST(Declaration, StoredNumeratorsAreOfTheOutputsType) {
  Variant half = stranger();
  half.dtype = Dtype::f16;
  for (const char* text : {"numerators=output", "numerators=f16"}) {
    Variant v = half;
    apply_declaration(text, v);
    EXPECT_EQ(v.claim.numerators, Numerators::output);
    EXPECT_EQ(v.claim.normalise, Normalise::recomputed);
    EXPECT_EQ(declaration_of(v), "numerators=output");
    refuse_idle_words(v);
    v.op = Op::lse;
    EXPECT_THROW(refuse_idle_words(v), InputError);
  }
  Variant v = half;
  EXPECT_THROW(apply_declaration("numerators=bf16", v), InputError);
  EXPECT_THROW(apply_declaration("numerators=f64", v), InputError);
  // Other types and operations share these words. Only the one that is judged must have a use for them.
  EXPECT_THROW(refuse_idle_words(declared("numerators=output")), InputError);
  v.claim.internals = Internals::f16;
  v.claim.numerators = Numerators::output;
  EXPECT_THROW(refuse_idle_words(v), InputError);
  EXPECT_NE(refusal_of_declaration("numerators=output; normalise=kept"), "");
  EXPECT_NE(refusal_of_declaration("numerators=output; algorithm=naive"), "");
  EXPECT_NE(refusal_of_declaration("numerators=output; algorithm=online; rescale_threshold=5"), "");
}

TEST(Declaration, SurvivesAnyBytes) {
  // Random pieces of declarations with bytes changed. Each text is either accepted and then reproduces
  // itself, or refused.
  const char* pieces[] = {
      "exp",     "=",  "fast",  ";",           " ",    "height", "V/256", "+",
      "(",       ")",  "log2(", "min(",        ",",    "V",      "9",     "algorithm=safe",
      "max_V=7", "\n", "ties=", "unspecified", "\xff", "-",      "*"};
  std::mt19937 random(1);
  int taken = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string text;
    for (unsigned i = random() % 12; i > 0; --i) text += pieces[random() % std::size(pieces)];
    Variant v = stranger();
    try {
      apply_declaration(text, v);
      ++taken;
      ASSERT_EQ(all_terms(declared(declaration_of(v))), all_terms(v)) << text;
    } catch (const InputError& e) {
      ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << text;
    }
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace assay
