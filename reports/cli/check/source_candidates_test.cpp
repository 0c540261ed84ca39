// SPDX-License-Identifier: Apache-2.0
// A source file, from the command-line words to a launch in a worker.
#include "reports/targets/source_candidates.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
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

}  // namespace
}  // namespace assay
