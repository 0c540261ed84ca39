// SPDX-License-Identifier: Apache-2.0
// The judged program is the named one: files that would be right only where something else includes them,
// calls them or is linked with them.
#include "kernels/adapter/compile/own_object.hpp"

#include <string>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/one_file_test.hpp"
#include "kernels/adapter/units/variant_lines.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

using one_file_test::Loaded;
using one_file_test::only_variant;
using one_file_test::worst_difference;

/// A softmax whose every output is FACTOR times too large.
const std::string kBody =
    "#include <math.h>\n"
    "template <class I>\n"
    "static inline void rows_of(const float* in, float* out, I rows, I V, float factor) {\n"
    "  for (I r = 0; r < rows; ++r) {\n"
    "    float m = -INFINITY, s = 0;\n"
    "    for (I i = 0; i < V; ++i) m = fmaxf(m, in[r * V + i]);\n"
    "    for (I i = 0; i < V; ++i) s += expf(in[r * V + i] - m);\n"
    "    for (I i = 0; i < V; ++i) out[r * V + i] = expf(in[r * V + i] - m) / s * factor;\n"
    "  }\n"
    "}\n";
const char* const kEntry = "void softmax(const float* in, float* out, int rows, int V)";
const char* const kLauncher =
    "void softmax(const float* in, float* out, int rows, int V) { rows_of(in, out, rows, V, FACTOR); }\n";
const char *const kWrongFile = "5 % too large", *const kRightFile = "right";

/// What a judge sees of a file: "right", "5 % too large", or the refusal. `way` gets the words of the
/// certificate.
std::string judged(const std::string& text, const char* entry, std::string* way = nullptr,
                   std::vector<std::string> args = {}) {
  const TestFolder own;
  OneFile f;
  f.source = (own.path() / "my.cu").string();
  f.entry = entry;
  f.args = std::move(args);
  f.host = true;
  f.build_dir = one_file_test::build_folder();
  write_text(f.source, kBody + text);
  try {
    const CompiledFile made = compile(f);
    if (way) *way = made.way;
    const Loaded l(made.path);
    const double worst = worst_difference(l, only_variant(l), 3, 40, 40);
    return worst < 1e-6 ? kRightFile : worst < 0.01 ? kWrongFile : "something else";
  } catch (const InputError& e) {
    return e.what();
  }
}
std::string with_factor(const std::string& condition) {
  return "#if " + condition + "\n#define FACTOR 1.0f\n#else\n#define FACTOR 1.05f\n#endif\n";
}

TEST(OwnObject, NoConditionalOfTheFileTellsThatItIsJudged) {
  const std::string condition = with_factor(
      "__INCLUDE_LEVEL__ > 0 || defined(ASSAY_ADAPTER_H) || defined(ASSAY_PLUGIN_H) || "
      "defined(ASSAY_VARIANT) || "
      "defined(ASSAY_HOST_CUDA) || defined(ASSAY_BACKEND) || defined(ASSAY_SHARED)");
  std::string way;
  EXPECT_EQ(judged(condition + kLauncher, kEntry, &way), kWrongFile);
  EXPECT_EQ(way, "the file alone, called by its symbol");
  EXPECT_EQ(judged(condition + "static " + kLauncher, kEntry, &way), kWrongFile);
  EXPECT_EQ(way,
            "the file alone, with the calls behind it (a function that is static, inline or in an unnamed "
            "namespace)");
  EXPECT_EQ(judged(condition + kLauncher + "#ifdef ASSAY_VARIANT\nASSAY_VARIANT(mine, softmax)\n#endif\n", "",
                   &way),
            kWrongFile);
  EXPECT_EQ(way, "the file alone, with the calls behind it (its ASSAY_VARIANT lines)");
}

TEST(OwnObject, NoMacroOrOverloadOfTheFileComesBetween) {
  const std::string wrong = "#define FACTOR 1.05f\n" + std::string(kLauncher);
  const std::string other =
      "template <class I>\nvoid other(const float* in, float* out, I rows, I V) { rows_of(in, out, "
      "int(rows), "
      "int(V), 1.0f); }\n";
  // Called by its symbol, and from behind the file.
  EXPECT_EQ(judged(wrong + other + "#define softmax other\n", kEntry), kWrongFile);
  EXPECT_EQ(judged("#define FACTOR 1.05f\nstatic " + std::string(kLauncher) + other +
                       "#define softmax other\n#define int long\n#define p p+0\n#define n n+0\n",
                   kEntry),
            kWrongFile);
  // A template would take the numbers as they are, if they had a type.
  const std::string own =
      "typedef short dim_t;\nvoid softmax(const float* in, float* out, dim_t rows, dim_t V) { "
      "rows_of<int>(in, out, rows, V, 1.05f); }\n";
  const char* const entry = "void softmax(const float* in, float* out, dim_t rows, dim_t V)";
  const std::string greedy =
      "template <class I>\nvoid softmax(const float* in, float* out, I rows, I V) { rows_of<int>(in, out, "
      "int(rows), "
      "int(V), 1.0f); }\n";
  std::string way;
  EXPECT_EQ(judged(own + greedy, entry, &way), kWrongFile);
  EXPECT_EQ(way, "the file alone, with the calls behind it (a type of the file's own: dim_t)");
  // The value of an --arg is one value, and closes no bracket.
  const std::string block =
      "void softmax(int block, const float* in, float* out, int rows, int V) { rows_of(in, out, rows, V, "
      "1.05f); }\n"
      "inline void right(int, const float* in, float* out, int rows, int V) { rows_of(in, out, rows, V, "
      "1.0f); }\n";
  const char* const blocks = "void softmax(int block, const float* in, float* out, int rows, int V)";
  EXPECT_EQ(judged(block + "#define BLOCK 256\n", blocks, &way, {"block=BLOCK"}), kWrongFile);
  EXPECT_EQ(way, "the file alone, with the calls behind it (a value of the file's own: BLOCK)");
  const std::string hijack =
      judged(block + "#define BLOCK 0, 0, 0, 0, 0), right(0\n", blocks, &way, {"block=BLOCK"});
  EXPECT_NE(hijack, kRightFile);
}

TEST(OwnObject, AnErrorThatTheFunctionReturnsMayNotBeLost) {
  const std::string text =
      "int softmax(const float* in, float* out, int rows, int V) { rows_of(in, out, rows, V, 1.0f); return 0; "
      "}\n";
  const std::string rest = " softmax(const float* in, float* out, int rows, int V)";
  EXPECT_EQ(judged(text, ("int" + rest).c_str()), kRightFile);
  const std::string said = judged(text, ("void" + rest).c_str());
  const std::string milliseconds = "float" + text.substr(text.find(' '));
  EXPECT_EQ(judged(milliseconds, ("void" + rest).c_str()), kRightFile) << "no error is lost";
  EXPECT_NE(said.find("softmax returns a status or a bool: write its type"), std::string::npos) << said;
}

TEST(OwnObject, NothingOfTheAdapterIsReplaced) {
  const std::string wrong = "#define FACTOR 1.05f\n" + std::string(kLauncher);
  const auto refused = [&](const std::string& text, const char* why) {
    const std::string said = judged(wrong + text, kEntry);
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  };
  // A static object that would change the function of the variant.
  refused(
      "static const bool changed = [] { ::assay_adapter::registered().variants[0].run = nullptr; return "
      "true; "
      "}();\n",
      "does not compile");
  // The same by the names that the linker sees.
  refused(
      "extern \"C\" __attribute__((visibility(\"default\"))) const void* assay_plugin_entry() { return "
      "nullptr; }\n",
      ": defines 'assay_plugin_entry', which the adapter calls");
  refused(
      "extern \"C\" __attribute__((weak)) long long assay_call_0(void* const*, const long long*, const "
      "float*, "
      "int*) { return 0; }\n",
      ": defines 'assay_call_0', which");
  refused("namespace assay_adapter {\nvoid* registered() { return nullptr; }\n}\n",
          ": defines 'assay_adapter::registered()', which");
  refused(
      "extern \"C\" void* memcpy(void* to, const void* from, size_t n) noexcept { for (size_t i = 0; i < n; "
      "++i) "
      "((char*)to)[i] = ((const char*)from)[i]; return to; }\n",
      ": defines 'memcpy', which");
  // Its own version of a function that only it uses is a part of the program.
  EXPECT_EQ(judged("extern \"C\" float my_expf(float x) { return expf(x); }\n" + wrong, kEntry), kWrongFile);
}

TEST(OwnObject, RightFilesStayRight) {
  const std::string right = "#define FACTOR 1.0f\n" + std::string(kLauncher);
  std::string way;
  EXPECT_EQ(judged("extern \"C\" {\n" + right + "}\n", kEntry, &way), kRightFile);
  EXPECT_EQ(way, "the file alone, called by its symbol");
  EXPECT_EQ(judged("#define FACTOR 1.0f\nnamespace a::b {\n" + std::string(kLauncher) + "}\n",
                   "void a::b::softmax(const float* in, float* out, int rows, int V)", &way),
            kRightFile);
  EXPECT_EQ(way, "the file alone, called by its symbol");
  EXPECT_EQ(
      judged(
          "template <class T, int N>\nvoid softmax(const T* in, T* out, int rows, int V) { rows_of(in, out, "
          "rows, V, N / 256.0f); }\n",
          "void softmax<float, 256>(const float* in, float* out, int rows, int V)", &way),
      kRightFile);
  EXPECT_EQ(way, "the file alone, with the calls behind it (a template's instance)");
}

TEST(OwnObject, OnlyVariantLinesStandBehindTheFile) {
  EXPECT_EQ(variant_lines(
                "int a;\n#ifdef ASSAY_VARIANT\n#define X 1\nASSAY_VARIANT(a, f, g(X))\n#endif\nint b;\n", ""),
            "      \n#ifdef ASSAY_VARIANT\n#define X 1\nASSAY_VARIANT(a, f, g(X))\n#endif\n      \n");
  EXPECT_EQ(variant_lines("#ifndef ASSAY_VARIANT\nint a;\n#else\nASSAY_VARIANT(a, f);\n#endif\n", ""),
            "#ifndef ASSAY_VARIANT\n      \n#else\nASSAY_VARIANT(a, f);\n#endif\n");
  const auto refusal = [](const char* text) -> std::string {
    try {
      variant_lines(text, "my.cu");
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("#if defined(ASSAY_VARIANT)\nvoid right();\n#endif\n"),
            "my.cu:2: void would be there only when the file is judged: in #ifdef ASSAY_VARIANT stand "
            "ASSAY_VARIANT "
            "lines and macros");
  EXPECT_EQ(refusal("#ifdef ASSAY_VARIANT\n#include \"right.h\"\n#endif\n").substr(0, 31),
            "my.cu:2: #include would be ther");
  EXPECT_EQ(refusal("#ifndef ASSAY_VARIANT\nint a;\n#else\nint b;\n#endif\n").substr(0, 12), "my.cu:4: int");
  EXPECT_NE(refusal("ASSAY_VARIANT(a, f)\n").find("my.cu:1: an ASSAY_VARIANT line stands in"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
