// SPDX-License-Identifier: Apache-2.0
// A source file, from the command-line words to a launch in a worker.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/records/compare.hpp"
#include "reports/targets/candidates.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

std::string fixture(const char* name) {
  return std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/" + name;
}
std::string build_folder() {
  return (std::filesystem::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
}

SourceOptions options_for(const char* entry) {
  SourceOptions o;
  o.entry = entry;
  o.host = true;
  o.build_dir = build_folder();
  return o;
}

TEST(SourceCandidates, CompileLoadAndLaunch) {
  SourceOptions o = options_for(
      "cudaError_t rows::softmax<T>(const T* in, int64_t in_stride, T* out, int64_t out_stride, int rows, "
      "int V, "
      "cudaStream_t stream)");
  o.dtypes = {"f16", "bf16", "f32"};
  const auto all = source_candidates(fixture("vector_template.cu"), o);
  ASSERT_EQ(all.size(), 3u);
  const Variant& v = all[2].variant;
  EXPECT_EQ(v.key(), "softmax/f32@plugin");
  EXPECT_FALSE(v.declared);
  EXPECT_TRUE(v.on_executor);
  EXPECT_FALSE(v.limits.dense);
  EXPECT_EQ(v.limits.max_V, 2147483647);
  EXPECT_NE(v.origin.find("vector_template.cu --entry 'cudaError_t rows::softmax<T>("), std::string::npos)
      << v.origin;
  EXPECT_NE(v.origin.find(" --host --types f32 "), std::string::npos) << v.origin;
  EXPECT_NE(v.file.find("-ffp-contract=off"), std::string::npos) << v.file;

  ASSERT_TRUE(source_of(v).has_value());
  EXPECT_EQ(source_of(v)->dtypes, std::vector<Dtype>{Dtype::f32});
  EXPECT_FALSE(source_of(Variant{}).has_value());

  Problem p;
  p.rows = 2;
  p.V = 5;
  p.in_pitch = p.out_pitch = 8;
  Images images;
  images.logits = Image(16 * sizeof(float), 0, 256);
  images.probs = Image(16 * sizeof(float), 0, 256);
  for (int i = 0; i < 16; ++i)
    reinterpret_cast<float*>(images.logits.payload())[i] = static_cast<float>(i % 8);
  const LaunchOutcome outcome = launch(v, p, images, {});
  ASSERT_TRUE(outcome.ok()) << outcome.fault;
  double sum = 0;
  for (int i = 0; i < 5; ++i) sum += std::exp(i);
  for (int i = 0; i < 5; ++i)
    EXPECT_NEAR(reinterpret_cast<const float*>(images.probs.payload())[8 + i], std::exp(i) / sum, 1e-6);
}

TEST(SourceCandidates, NoStreamArgument) {
  const auto all =
      source_candidates(fixture("shuffle_rows.cu"),
                        options_for("void softmax_rows(float* out, const float* inp, int N, int C)"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].variant.limits.dense);
  // Host memory has no default stream.
  EXPECT_TRUE(all[0].variant.own_stream);
}

TEST(SourceCandidates, NamesOneOfAFile) {
  EXPECT_TRUE(is_source_file("a/b.cu"));
  EXPECT_TRUE(is_source_file("a/b.cu#tiled"));
  EXPECT_FALSE(is_source_file("libmine.so"));
  EXPECT_FALSE(is_source_file("online_block/f32@host"));
  SourceOptions o = options_for("");
  EXPECT_EQ(source_candidates(fixture("tile_2d.cu") + "#tiled", o).size(), 1u);
  EXPECT_THROW(source_candidates(fixture("tile_2d.cu") + "#other", o), InputError);
  o.dtypes = {"f64"};
  EXPECT_THROW(one_file("a.cu", o), InputError);
}

TEST(SourceCandidates, WordsNameEverythingThatWasGiven) {
  SourceOptions o = options_for("void f(const float* in, float* out, int rows, int c, int b)");
  o.args = {"c=V", "b=BLOCK + 1"};
  o.nvcc_flags = "-DBLOCK=256 -I inc";
  o.dtypes = {"f32"};
  o.name = "theirs";
  o.declare = "exp=fast; height=V/256+13";
  o.op = "log_softmax";
  const std::string words = source_words("my kernel.cu", o);
  for (const char* part :
       {"'my kernel.cu' --entry 'void f(const float* in, float* out, int rows, int c, int b)'", " --arg c=V ",
        " --arg 'b=BLOCK + 1' ", " --host ", " --nvcc-flags '-DBLOCK=256 -I inc' ", " --types f32 ",
        " --name theirs ", " --declare 'exp=fast; height=V/256+13' ", " --op log_softmax "})
    EXPECT_NE(words.find(part), std::string::npos) << part << " is not in: " << words;
  // For a file that registers itself, --op selects cases, and the case's reproduce line repeats it.
  o.entry.clear();
  EXPECT_EQ(source_words("my.cu", o).find("--op"), std::string::npos);
}

TEST(SourceCandidates, AWrongDeclarationIsNotTheFilesFault) {
  SourceOptions o = options_for("void softmax_rows(float* out, const float* inp, int N, int C)");
  o.declare = "exq=fast";
  try {
    source_candidates(fixture("shuffle_rows.cu"), o);
    FAIL() << "accepted";
  } catch (const InputError& e) {
    const std::string line = e.what();
    EXPECT_TRUE(line.starts_with("declaration: 'exq': is no word")) << line;
    EXPECT_EQ(line.find(".so"), std::string::npos) << line;
  }
}

TEST(SourceCandidates, ADeclarationComesOnTopOfWhatTheFileRegisters) {
  SourceOptions o = options_for("");
  o.declare = "max_V=8; ties=smaller_index";
  const std::vector<Target> all = resolve_targets({{fixture("tile_2d.cu")}, o});
  ASSERT_EQ(all.size(), 1u);
  for (const Variant& v : {all[0].variant, all[0].make()}) {
    EXPECT_EQ(v.limits.max_V, 8);
    EXPECT_EQ(v.claim.ties, Ties::smaller_index);
    EXPECT_EQ(v.claim.exp, Exp::fast) << "what ASSAY_VARIANT says";
  }
}

// A Python callable, from the command-line words to a verdict that its reproduce line repeats.

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

// Kernels in files whose first lines say how they are called and what must come of it:
// kernels/adapter/examples get exactly the contract that they state, and kernels/adapter/right, unchanged
// files of other authors, pass the quick check with nothing declared.

namespace fs = std::filesystem;
using command_test::Outcome;

/// A file, and its first lines: "// entry: DECLARATION". "// types: f16,f32" if T stands for several. "//
/// needs: device" if the host executor cannot run it. "// arg: NAME=ROLE" if names do not tell the role. "//
/// declared: WORDS" given by the author. "// exit: STATUS". "// within: CONTRACT". "// declare: WORDS" if
/// limits are to be found.
struct Example {
  fs::path path;
  std::map<std::string, std::string> says;
  std::string operator[](const char* word) const { return says.contains(word) ? says.at(word) : ""; }
};
void PrintTo(const Example& e, std::ostream* o) { *o << e.path.filename().string(); }

std::vector<Example> examples(const char* folder, const char* ending) {
  std::vector<Example> all;
  std::error_code none;  // a bundle has no sources
  for (const auto& at : fs::directory_iterator(std::string(ASSAY_SOURCE_DIR) + folder, none)) {
    if (!at.path().string().ends_with(ending)) continue;
    Example e{at.path(), {}};
    std::ifstream in(e.path);
    for (std::string line; std::getline(in, line) && line.starts_with("//");)
      if (const std::size_t colon = line.find(": "); colon != line.npos && colon > 3)
        e.says[line.substr(3, colon - 3)] = line.substr(colon + 2);
    all.push_back(e);
  }
  std::ranges::sort(all, {}, &Example::path);
  return all;
}
std::string stem(const testing::TestParamInfo<Example>& i) { return i.param.path.stem().string(); }

/// Checks the file into the folder.
Outcome check(const Example& e, const TestFolder& out, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"check", e.path.string(), "--quick", "--out", out.path().string()};
  if (e["needs"].empty()) words.push_back("--host");
  for (const auto& [word, option] : {std::pair("entry", "--entry"), std::pair("types", "--types"),
                                     std::pair("arg", "--arg"), std::pair("declared", "--declare")})
    if (!e[word].empty()) words.insert(words.end(), {option, e[word]});
  words.insert(words.end(), more.begin(), more.end());
  return command_test::call_words(words);
}

class AdoptExamples : public testing::TestWithParam<Example> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdoptExamples);

TEST_P(AdoptExamples, GetTheirContract) {
  const Example& e = GetParam();
  ASSERT_NE(e["entry"], "");
  ASSERT_NE(e["within"], "");
  if (const std::string why = unavailable_reason(Backend::cuda); e["needs"] == "device" && !why.empty())
    GTEST_SKIP() << "its blocks read each other's memory, which only a GPU does: " << why;
  const TestFolder out;
  const Outcome o = check(e, out);
  EXPECT_EQ(std::to_string(o.status), e["exit"]) << o.out;
  EXPECT_NE(o.out.find("within: " + e["within"] + "\n"), std::string::npos) << o.out;
  if (e["declare"].empty()) return;
  EXPECT_NE(o.out.find(e["declare"]), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("\n  outside: "), std::string::npos) << o.out;
}
INSTANTIATE_TEST_SUITE_P(Of, AdoptExamples, testing::ValuesIn(examples("/kernels/adapter/examples", ".cu")),
                         stem);

TEST(AdoptExamplesFolder, LimitsThatAreDeclaredOrAcceptedAreNoFinding) {
  const std::vector<Example> all = examples("/kernels/adapter/examples", "/registers_by_32.cu");
  if (all.empty()) GTEST_SKIP() << "the sources are not on this machine";
  const TestFolder out;
  const Outcome declared = check(all[0], out, {"--declare", all[0]["declare"]});
  EXPECT_EQ(declared.status, kPassed) << declared.out;
  EXPECT_EQ(declared.out.find("adopt with"), std::string::npos) << declared.out;
  EXPECT_EQ(check(all[0], out, {"--accept-limits"}).status, kPassed);
  // The author's declaration is a promise, and this kernel does not keep V_multiple=8.
  const Outcome broken = check(all[0], out, {"--declare", "V_multiple=8; max_V=1024"});
  EXPECT_EQ(broken.status, kFailed) << broken.out;
}

class RightFiles : public testing::TestWithParam<Example> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RightFiles);

TEST_P(RightFiles, PassTheQuickCheckUndeclared) {
  ASSERT_NE(GetParam()["entry"], "");
  const TestFolder out;
  const Outcome o = check(GetParam(), out);
  ASSERT_EQ(o.status, kPassed) << o.out;
  for (const Record& r : read_records(out.path() / "records.jsonl"))
    EXPECT_NE(r.status, Status::not_run) << r.reproduce;
}
INSTANTIATE_TEST_SUITE_P(Of, RightFiles, testing::ValuesIn(examples("/kernels/adapter/right", "")), stem);

TEST(RightFilesFolder, HoldsTenWaysAndEveryType) {
  const std::vector<Example> all = examples("/kernels/adapter/right", "");
  if (all.empty()) GTEST_SKIP() << "the sources are not on this machine";
  EXPECT_GE(all.size(), 10u);
  std::string said;
  for (const Example& e : all) said += e["types"] + " " + e["entry"] + "\n";
  for (const char* part : {"f16,", "bf16,", "const float*", "__half*", "half*", "__nv_bfloat16 *"})
    EXPECT_NE(said.find(part), said.npos) << part;
}

}  // namespace
}  // namespace assay
