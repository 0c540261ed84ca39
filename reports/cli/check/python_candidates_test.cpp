// SPDX-License-Identifier: Apache-2.0
// A Python callable, from the command-line words to a verdict that its reproduce line repeats.
#include "reports/targets/python_candidates.hpp"

#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

TEST(PythonCandidates, WordsThatNameACallable) {
  for (const char* word : {"soft.py:softmax", "soft.py::softmax", "a/b c.py:Layer.forward",
                           "package.module:softmax", "module:f", "soft.py"})
    EXPECT_TRUE(is_python_callable(word)) << word;
  for (const char* word : {"online_block/f32@host", "theirs/f16:f32@plugin", "libmine.so#f", "my.cu#f",
                           "soft", "a b:f", "module:", "module:2f", "a/b:f"})
    EXPECT_FALSE(is_python_callable(word)) << word;
}

TEST(PythonCandidates, OptionsSayHowItIsCalled) {
  SourceOptions o;
  o.op = "topk";
  o.dtypes = {"f16:f32", "bf16"};
  o.host = true;
  o.python = "/opt/a python";
  o.args = {"dim=-1", "mask=mask_keep:bool"};
  PythonCallable c = python_callable("a/soft.py::Layer.forward", o);
  EXPECT_TRUE(c.is_file);
  EXPECT_EQ(c.place, "a/soft.py");
  EXPECT_EQ(c.function, "Layer.forward");
  EXPECT_EQ(c.name, "Layer_forward");
  EXPECT_EQ(c.op, Op::topk);
  EXPECT_EQ(c.arguments, o.args);
  ASSERT_EQ(c.types.size(), 2u);
  EXPECT_EQ(c.types[0], std::pair(Dtype::f16, Dtype::f32));
  EXPECT_EQ(c.types[1], std::pair(Dtype::bf16, Dtype::bf16));
  Variant v;
  v.dtype = Dtype::f16;
  v.out_dtype = Dtype::f32;
  EXPECT_EQ(python_words("a/soft.py::Layer.forward", o, v),
            "a/soft.py::Layer.forward --arg dim=-1 --arg mask=mask_keep:bool --op topk --types f16:f32 "
            "--host --python '/opt/a python'");
  EXPECT_EQ(python_words("a.b:f", {}, Variant{}), "a.b:f");
  c = python_callable("a.b:f", {});
  EXPECT_FALSE(c.is_file);
  EXPECT_EQ(c.place, "a.b");

  const auto refused = [](const std::string& word, const SourceOptions& with) {
    try {
      python_callable(word, with);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("it was accepted");
  };
  SourceOptions entry, op, types, argument;
  entry.entry = "void f()";
  argument.args = {"mask=keep"};
  op.op = "normalizer";
  types.dtypes = {"f64"};
  EXPECT_EQ(refused("soft.py", {}), "soft.py: say which function: soft.py:softmax");
  EXPECT_EQ(refused("m:f", entry), "--entry: is for files that are compiled, and not for m:f");
  EXPECT_EQ(refused("m:f", op),
            "--op normalizer: a Python callable does softmax, log_softmax, lse, topk, softmax_topk, "
            "topk_softmax, min_p, top_p or log_softmax_topk");
  EXPECT_TRUE(refused("m:f", argument).starts_with("--arg 'mask=keep': neither a role"));
  EXPECT_EQ(refused("m:f", types), "--types f64: must be f16, bf16 or f32, or inputs:outputs, as f16:f32");
}

}  // namespace
}  // namespace assay
