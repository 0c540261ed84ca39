// SPDX-License-Identifier: Apache-2.0
// A Python callable, from the command-line words to a verdict that its reproduce line repeats.
#include "reports/targets/python_candidates.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.hpp"
#include "reports/cli/check/python_check_test.hpp"
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

TEST(PythonCandidates, ARightOnePassesAndWrongOnesFail) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string file = python_fixture("raw_rows.py");
  Checked c = check_callable(file + ":right", "--quick --only shapes --V 33");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
  EXPECT_NE(c.out.find("PASS right/f32@plugin"), std::string::npos) << c.out;
  for (const Record& r : c.records) EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_GE(c.records.size(), 1u);

  c = check_callable(file + ":right", "--quick --only shapes --V 33 --declare max_V=32");
  for (const Record& r : c.records) EXPECT_TRUE(r.reason.starts_with("domain: ")) << r.reason;

  c = check_callable(file + ":no_max", "--quick --only shapes --family shifted_minus_1000 --V 33");
  EXPECT_EQ(c.status, kFailed) << c.out << c.err;
  EXPECT_NE(c.out.find("FAIL no_max/f32@plugin"), std::string::npos) << c.out;

  c = check_callable(file + ":keeps_state", "--quick --only calls --V 37");
  EXPECT_EQ(c.status, kFailed) << c.out << c.err;
  EXPECT_NE(c.out.find("state is kept from call to call"), std::string::npos) << c.out;

  c = check_callable(file + ":late", "--quick --only shapes --V 33");
  EXPECT_EQ(c.status, kFailed) << c.out << c.err;
  EXPECT_NE(c.out.find("changed after the launch had ended"), std::string::npos) << c.out;
}

TEST(PythonCandidates, ItsOwnLineRepeatsACase) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Checked c = check_callable(python_fixture("raw_rows.py") + ":throws",
                                   "--host --name thrower --quick --only shapes --V 33 --timeout 30");
  ASSERT_EQ(c.status, kFailed) << c.out << c.err;
  ASSERT_FALSE(c.records.empty());
  const Record& first = c.records[0];
  EXPECT_EQ(first.key, "thrower/f32@plugin");
  EXPECT_NE(first.reproduce.find("raw_rows.py:throws --name thrower --host --python " + test_python() +
                                 " --timeout 30 "),
            std::string::npos)
      << first.reproduce;
  std::vector<std::string> words;
  std::istringstream line(first.reproduce);
  for (std::string w; line >> w;) words.push_back(w);
  const Checked again = check_words({words.begin() + 2, words.end()});
  ASSERT_EQ(again.records.size(), 1u) << again.out << again.err;
  EXPECT_EQ(again.records[0].reproduce, first.reproduce);
  EXPECT_EQ(again.records[0].reason, first.reason);
}

TEST(PythonCandidates, ExitStatusOfABadCall) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const auto one_line = [](const Checked& c) { return c.err.find('\n') + 1 == c.err.size(); };
  for (const char* target : {"/nowhere/soft.py:softmax", "a_module_of_nobody:softmax"}) {
    const Checked c = check_callable(target, "");
    EXPECT_EQ(c.status, kBadCall) << target;
    EXPECT_TRUE(one_line(c)) << c.err;
  }
  const Checked lacks = check_callable(python_fixture("lacks_module.py") + ":f", "");
  EXPECT_EQ(lacks.status, kEnvironment);
  EXPECT_TRUE(one_line(lacks)) << lacks.err;
  EXPECT_NE(lacks.err.find(" -m pip install a_module_that_nobody_has"), std::string::npos) << lacks.err;
  const Checked none = check_words({python_fixture("raw_rows.py") + ":right", "--python", "/nowhere/python"});
  EXPECT_EQ(none.status, kEnvironment);
  EXPECT_TRUE(one_line(none)) << none.err;
}

TEST(PythonCandidates, NumpyOfEveryOp) {
  ASSAY_NEEDS_PYTHON("numpy");
  const std::string file = python_fixture("numpy_rows.py");
  for (const char* words :
       {":right --types f32,f16", ":lse --op lse", ":topk --op topk --declare k_up_to_V=yes",
        ":topk_softmax --op topk_softmax --declare k_up_to_V=yes",
        ":log_softmax_topk --op log_softmax_topk --declare k_up_to_V=yes", ":min_p --op min_p",
        ":top_p --op top_p"}) {
    const std::string all = words;
    const std::size_t at = all.find(' ');
    const Checked c = check_callable(file + all.substr(0, at),
                                     all.substr(at) + " --quick --only shapes --only rows --only layout");
    EXPECT_EQ(c.status, kPassed) << words << "\n" << c.out << c.err;
  }
  const Checked c = check_callable(file + ":no_max", "--quick --only families");
  EXPECT_EQ(c.status, kFailed) << c.out << c.err;
  EXPECT_NE(c.out.find("no maximum is subtracted"), std::string::npos) << c.out;
}

TEST(PythonCandidates, TorchEagerAndCompiled) {
  ASSAY_NEEDS_PYTHON("torch");
  const std::string file = python_fixture("torch_rows.py");
  Checked c = check_callable(file + ":eager", "--host --types f32,bf16 --quick --only shapes");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
  c = check_callable(file + ":topk", "--host --op topk --declare k_up_to_V=yes --quick --only rows");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
  // It is compiled again for each shape. The wait for that is no hang. The first takes most of a minute where
  // importing torch takes long, because torch's compiler imports it again in other processes.
  c = check_callable(file + ":compiled", "--host --quick --only rows --V 129 --timeout 10");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
}

}  // namespace
}  // namespace assay
