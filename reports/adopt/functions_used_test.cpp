// SPDX-License-Identifier: Apache-2.0
// The functions that a source names: no comment, no text, and with fast math those that nvcc takes instead.
#include "reports/adopt/functions_used.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

std::vector<std::string> named(const std::string& text, const std::string& flags = "", bool host = false,
                               Dtype dtype = Dtype::f32) {
  Variant v;
  v.backend = Backend::plugin;
  v.on_executor = host;
  v.dtype = dtype;
  std::vector<std::string> names;
  for (const functions::Function* f : functions_named(v, {text}, flags).all) names.push_back(f->id());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(FunctionsUsed, AreThoseThatTheSourceNames) {
  EXPECT_EQ(named("y = expf(x - m) / d;", "", true), (Names{"expf/f32@host", "x/y/f32@host"}));
  EXPECT_EQ(named("r = 1.0f / d; y = exp2f(x) * r;", "", true), (Names{"1/x/f32@host", "exp2f/f32@host"}));
  // Neither comments nor texts are named, nor a part of a word.
  EXPECT_EQ(named("// expf(x) / d\nprintf(\"expf / hexp\"); my_expf(x);", "", true), Names());
  EXPECT_EQ(named("hexp(x)", "", true, Dtype::bf16), Names{"hexp/bf16@host"});
  // An overload is the function of float.
  EXPECT_EQ(named("y = std::exp(x - m) / log(d);", "", true),
            (Names{"expf/f32@host", "logf/f32@host", "x/y/f32@host"}));
  Variant v;
  EXPECT_NE(functions_named(v, {"copy(x)"}, "").why_none, "");
  EXPECT_EQ(functions_named(v, {"exp10f(x) + log2f(d) + expf(x)"}, "").untested,
            (std::vector<std::string>{"exp10f", "log2f"}));
}

TEST(FunctionsUsed, WithFastMathAreOthers) {
  const Names usual = named("y = expf(x - m) / d;"),
              fast = named("y = expf(x - m) / d;", "-O3 --use_fast_math");
  // A build without CUDA has no functions of a GPU.
  if (usual.empty()) GTEST_SKIP() << "this build tests no functions of a GPU";
  EXPECT_EQ(usual, (Names{"expf/f32@cuda", "x/y/f32@cuda"}));
  EXPECT_EQ(fast, (Names{"__expf/f32@cuda", "__fdividef/f32@cuda"}));
  // The host executor has no fast math.
  EXPECT_EQ(named("expf(x)", "--use_fast_math", true), Names{"expf/f32@host"});
}

}  // namespace
}  // namespace assay
