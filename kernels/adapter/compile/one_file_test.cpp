// From somebody's file to a plugin: for the host executor, so that it runs here.
#include "kernels/adapter/compile/one_file.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/adapter/compile/host_source.hpp"
#include "kernels/adapter/compile/toolchain.hpp"
#include "kernels/plugin.h"
#include "reference/error.hpp"
#include "reference/formats.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// One folder for all tests of a run: the executor is compiled into it once.
std::string build_folder() {
  return (fs::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
}

OneFile fixture(const char* name, const char* entry) {
  OneFile f;
  f.source = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/" + name;
  f.entry = entry;
  f.host = true;
  f.build_dir = build_folder();
  return f;
}
std::string refusal(const OneFile& f) {
  try {
    compile_one_file(f);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

struct Loaded {
  void* handle;
  const assay_plugin* plugin = nullptr;
  explicit Loaded(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) ADD_FAILURE() << dlerror();
    if (handle) plugin = reinterpret_cast<assay_plugin_entry_function>(dlsym(handle, ASSAY_PLUGIN_SYMBOL))();
  }
  const char* fault() const {
    return reinterpret_cast<const char* (*)()>(dlsym(handle, "assay_plugin_fault"))();
  }
};

std::vector<unsigned char> stored(const std::vector<double>& values, Dtype t) {
  std::vector<unsigned char> bytes(values.size() * size_of(t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t b = encode(t, values[i]);
    std::memcpy(&bytes[i * size_of(t)], &b, size_of(t));
  }
  return bytes;
}

/// Runs a variant on rows x V logits and returns the largest difference to softmax in double.
double worst_difference(const Loaded& l, const assay_variant& v, std::int64_t rows, std::int64_t V,
                        std::int64_t pitch) {
  const Dtype in = *parse_dtype(v.in_dtype), out = *parse_dtype(v.out_dtype ? v.out_dtype : v.in_dtype);
  std::vector<double> logits(static_cast<std::size_t>(rows * pitch));
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<double>(i)) * 4;
  std::vector<unsigned char> input = stored(logits, in),
                             output(static_cast<std::size_t>(rows * pitch) * size_of(out), 0xff);
  std::int64_t shape[2] = {rows, V}, strides[2] = {pitch, 1};
  const auto tensor = [&](std::vector<unsigned char>& bytes, Dtype t) {
    assay_tensor a{};
    a.data = bytes.data();
    a.device = {1, 0};
    a.ndim = 2;
    a.dtype = {static_cast<std::uint8_t>(t == Dtype::bf16 ? 4 : 2), static_cast<std::uint8_t>(size_of(t) * 8),
               1};
    a.shape = shape;
    a.strides = strides;
    return a;
  };
  const assay_tensor x = tensor(input, in), y = tensor(output, out);
  assay_call call{};
  call.struct_size = sizeof call;
  call.op = v.op;
  call.logits = &x;
  call.values = &y;
  call.scale = 1;
  std::vector<unsigned char> workspace(v.workspace_bytes(&call));
  call.workspace = workspace.data();
  call.workspace_bytes = workspace.size();
  if (const int status = v.run(&call)) {
    ADD_FAILURE() << v.name << ": " << status << ": " << l.fault();
    return 1;
  }
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> e(static_cast<std::size_t>(V));
    double sum = 0;
    for (std::int64_t i = 0; i < V; ++i)
      sum += e[static_cast<std::size_t>(i)] =
          std::exp(decode(in, encode(in, logits[static_cast<std::size_t>(r * pitch + i)])));
    for (std::int64_t i = 0; i < V; ++i) {
      std::uint64_t b = 0;
      std::memcpy(&b, &output[static_cast<std::size_t>(r * pitch + i) * size_of(out)], size_of(out));
      const double difference = std::fabs(decode(out, b) - e[static_cast<std::size_t>(i)] / sum);
      if (!(difference <= worst)) worst = difference;
    }
  }
  return worst;
}

TEST(OneFile, WarpShufflesAndNoStream) {
  const Loaded l(compile_one_file(
      fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)")));
  ASSERT_TRUE(l.plugin);
  ASSERT_EQ(l.plugin->variant_count, 1u);
  const assay_variant& v = l.plugin->variants[0];
  EXPECT_STREQ(v.name, "softmax_rows");
  EXPECT_STREQ(v.in_dtype, "f32");
  EXPECT_EQ(v.device_type, 1);
  EXPECT_STREQ(v.declaration, "dense=yes; max_V=2147483647");
  EXPECT_LT(worst_difference(l, v, 5, 1000, 1000), 1e-6);
}

TEST(OneFile, TemplateOfThreeTypesWithPitches) {
  OneFile f = fixture(
      "vector_template.cu",
      "cudaError_t rows::softmax<T>(const T* in, int64_t in_stride, T* out, int64_t out_stride, int rows, "
      "int V, cudaStream_t stream)");
  f.dtypes = {Dtype::f16, Dtype::bf16, Dtype::f32};
  f.declaration = "height=V/256+13";
  const CompiledFile first = compile(f);
  const Loaded l(first.path);
  ASSERT_TRUE(l.plugin);
  ASSERT_EQ(l.plugin->variant_count, 3u);
  const double limits[] = {1e-3, 1e-2, 1e-6};
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(worst_difference(l, l.plugin->variants[i], 3, 100, 112), limits[i]);
    EXPECT_LT(worst_difference(l, l.plugin->variants[i], 2, 512, 512), limits[i]);
    EXPECT_STREQ(l.plugin->variants[i].declaration, "height=V/256+13; max_V=2147483647");
  }
  EXPECT_TRUE(compile(f).cached);
  EXPECT_EQ(compile(f).path, first.path);
}

TEST(OneFile, RegistersItself) {
  const Loaded l(compile_one_file(fixture("tile_2d.cu", "")));
  ASSERT_TRUE(l.plugin);
  ASSERT_EQ(l.plugin->variant_count, 1u);
  const assay_variant& v = l.plugin->variants[0];
  EXPECT_STREQ(v.name, "tiled");
  EXPECT_STREQ(v.declaration, "exp=fast; finite=yes; dense=yes; max_V=2147483647");
  EXPECT_LT(worst_difference(l, v, 9, 77, 77), 1e-6);
}

TEST(OneFile, WorkspaceAndLargeSharedMemory) {
  OneFile f = fixture(
      "big_shared.cu",
      "cudaError_t staged_softmax(const float* d_in, float* d_out, void* workspace, size_t rows, size_t V, "
      "cudaStream_t stream)");
  f.args = {"workspace_bytes=rows * 4"};
  const Loaded l(compile_one_file(f));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 2, 20000, 20000), 1e-6);
}

TEST(OneFile, ExecutorFaultsReachTheCaller) {
  const Loaded l(compile_one_file(
      fixture("half_pairs.cu",
              "void softmax_pairs(const half* in, half* out, int rows, int V, cudaStream_t stream)")));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 2, 64, 64), 1e-3);
  // Pitches that the entry cannot be told are refused, with the reason.
  assay_call call{};
  std::int64_t shape[2] = {2, 4}, strides[2] = {6, 1};
  assay_tensor x{};
  x.shape = shape;
  x.strides = strides;
  call.logits = call.values = &x;
  call.scale = 1;
  EXPECT_NE(l.plugin->variants[0].run(&call), 0);
  EXPECT_STREQ(l.fault(), "rows do not lie V apart, and the entry takes no pitch");
}

/// What the file itself allocates ends where it asked for, and begins where it was given.
TEST(OneFile, WritesPastMemoryOfTheFileAreFaults) {
  const Loaded l(compile_one_file(fixture(
      "own_memory.cu", "void softmax(const float* in, float* out, int rows, int V, cudaStream_t stream)")));
  ASSERT_TRUE(l.plugin);
  const assay_variant& v = l.plugin->variants[0];
  const auto fault_at = [&](std::int64_t V) -> std::string {
    std::vector<float> logits(static_cast<std::size_t>(V), 1.0f), probs(logits.size());
    std::int64_t shape[2] = {1, V}, strides[2] = {V, 1};
    assay_tensor x{};
    x.data = logits.data();
    x.device = {1, 0};
    x.ndim = 2;
    x.dtype = {2, 32, 1};
    x.shape = shape;
    x.strides = strides;
    assay_tensor y = x;
    y.data = probs.data();
    assay_call call{};
    call.struct_size = sizeof call;
    call.op = v.op;
    call.logits = &x;
    call.values = &y;
    call.scale = 1;
    return v.run(&call) ? l.fault() : "";
  };
  EXPECT_EQ(fault_at(100), "");
  EXPECT_EQ(fault_at(101), "memory was written past the 400 bytes that cudaMalloc gave");
  // Said once, of the launch that did it.
  EXPECT_EQ(fault_at(99), "");
  EXPECT_EQ(fault_at(164), "memory was written past the 400 bytes that cudaMalloc gave");
  EXPECT_EQ(fault_at(7), "memory was written before the 400 bytes that cudaMalloc gave");
  EXPECT_EQ(fault_at(100), "");
}

TEST(OneFile, WorkOnTheDefaultStreamIsAFaultWhereAStreamIsGiven) {
  const auto fault_of = [](const char* entry) {
    const Loaded l(compile_one_file(fixture("default_stream.cu", entry)));
    std::vector<float> in(8, 1.0f), out(8);
    std::int64_t shape[2] = {2, 4}, strides[2] = {4, 1};
    assay_tensor x{}, y{};
    x.data = in.data(), y.data = out.data();
    x.shape = y.shape = shape;
    x.strides = y.strides = strides;
    assay_call call{};
    call.logits = &x;
    call.values = &y;
    call.scale = 1;
    const int status = l.plugin->variants[0].run(&call);
    EXPECT_FLOAT_EQ(out[7], 0.25f) << entry;
    return status ? std::string(l.fault()) : "";
  };
  EXPECT_EQ(fault_of("void on_default(const float* in, float* out, int rows, int V, cudaStream_t s)"),
            "work was put on the default stream, not on the one that the call gave");
  EXPECT_EQ(fault_of("void on_given(const float* in, float* out, int rows, int V, cudaStream_t s)"), "");
  EXPECT_EQ(fault_of("void waits(const float* in, float* out, int rows, int V, cudaStream_t s)"), "");
}

TEST(OneFile, SaysWhatTheExecutorDoesNotSpeak) {
  for (const auto& [file, why] :
       {std::pair("pipeline.cu", "unsupported: executor: <cuda_pipeline.h> (the host"),
        std::pair("block_scan.cu", "unsupported: executor: cub::BlockScan (the host executor has no such")}) {
    const std::string text = refusal(
        fixture(file, "void softmax(const float* in, float* out, int rows, int V, cudaStream_t stream)"));
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(file) + ":"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(OneFile, GroupsCubAndRowsOfAWarp) {
  const auto worst = [](const char* file, const char* entry, const char* flags = "") {
    OneFile f = fixture(file, entry);
    f.nvcc_flags = flags;
    const Loaded l(compile_one_file(f));
    double all = l.plugin ? 0 : 1;
    if (l.plugin)
      for (const std::int64_t V : {1, 7, 100, 300})
        all = std::max(all, worst_difference(l, l.plugin->variants[0], 5, V, V));
    return all;
  };
  const char* const plain = "void softmax(const float* in, float* out, int rows, int V, cudaStream_t stream)";
  EXPECT_LT(worst("groups.cu", plain), 1e-6);
  EXPECT_LT(worst("rows_of_a_warp.cu", plain), 1e-6);
  EXPECT_LT(worst("rows_of_a_warp.cu", plain, "-DOLD_SHUFFLES"), 1e-6);
  EXPECT_LT(
      worst("cub_online.cu",
            "void online_softmax(const float* x, float* y, int batch_size, int V, cudaStream_t stream)"),
      1e-6);
}

TEST(OneFile, LaunchersAsPeopleWriteThem) {
  const auto loaded = [](const char* entry, std::vector<std::string> arguments = {}) {
    OneFile f = fixture("launchers.cu", entry);
    f.args = std::move(arguments);
    return Loaded(compile_one_file(f));
  };
  const auto declared = [](const Loaded& l) { return std::string(l.plugin->variants[0].declaration); };
  const Loaded in_place = loaded("void in_place(float* x, int nrow, int ncol)");
  EXPECT_LT(worst_difference(in_place, in_place.plugin->variants[0], 5, 40, 40), 1e-6);
  EXPECT_EQ(declared(in_place), "dense=yes; max_V=2147483647; in_place=yes");
  // Called for each row, which may lie apart.
  const Loaded one = loaded("void one_row(const float* x, float* y, dim_t n)", {"n=V", "rows=1"});
  EXPECT_LT(worst_difference(one, one.plugin->variants[0], 5, 40, 40), 1e-6);
  EXPECT_LT(worst_difference(one, one.plugin->variants[0], 5, 40, 47), 1e-6);
  EXPECT_EQ(declared(one), "");
  const Loaded room = loaded(
      "int with_room(const float* in, float* out, float* copy, float* sums, size_t nrows, size_t ncols, int "
      "batch)",
      {"copy=workspace(4*rows*V)", "sums=workspace(rows * 4)", "nrows=rows", "batch=rows"});
  EXPECT_LT(worst_difference(room, room.plugin->variants[0], 5, 41, 41), 1e-6);
  // A bool is true where all went well.
  const Loaded counted = loaded("bool counted(const float* in, float* out, dim_t numel, dim_t dim)");
  EXPECT_LT(worst_difference(counted, counted.plugin->variants[0], 5, 40, 40), 1e-6);
  std::vector<float> buffer(13, 1.0f);
  std::int64_t shape[2] = {1, 13}, strides[2] = {13, 1};
  assay_tensor x{};
  x.data = buffer.data();
  x.device = {1, 0};
  x.ndim = 2;
  x.dtype = {2, 32, 1};
  x.shape = shape;
  x.strides = strides;
  assay_call call{};
  call.struct_size = sizeof call;
  call.logits = call.values = &x;
  call.scale = 1;
  EXPECT_NE(counted.plugin->variants[0].run(&call), 0);
  EXPECT_STREQ(counted.fault(), "the entry returned false");
}

TEST(OneFile, NamesWhatIsWrong) {
  EXPECT_NE(refusal(fixture("nowhere.cu", "void f()")).find("nowhere.cu: no such file"), std::string::npos);
  EXPECT_NE(refusal(fixture("groups.cu", "")).find("--entry"), std::string::npos);
  const std::string text =
      refusal(fixture("shuffle_rows.cu", "void another(const float* in, float* out, int rows, int V)"));
  EXPECT_NE(text.find("has no function 'another'"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  // The function is there, and takes something else.
  const std::string other = refusal(
      fixture("shuffle_rows.cu", "void softmax_rows(const float* in, float* out, int rows, int V, int k)"));
  EXPECT_NE(other.find("has no k"), std::string::npos) << other;
  const std::string types = refusal(
      fixture("shuffle_rows.cu", "void softmax_rows(const __half* in, __half* out, int rows, int V)"));
  EXPECT_NE(types.find("does not compile"), std::string::npos) << types;
  EXPECT_NE(types.find(".log"), std::string::npos) << types;
  OneFile f = fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)");
  f.build_dir = "/proc/nowhere";
  EXPECT_NE(refusal(f).find("build folder"), std::string::npos);
  OneFile block =
      fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* in, int N, int C, int b)");
  block.args = {"b=BLOCK_SIZE"};
  EXPECT_EQ(refusal(block), "--arg 'b=BLOCK_SIZE': 'BLOCK_SIZE' is not to be found in " + block.source);
}

TEST(OneFile, RacesAreFound) {
  const auto status_of = [](const OneFile& f) {
    std::string report;
    const int status = run_race_checker(build_race_checker(f), report);
    return std::pair(status, report);
  };
  const auto [good, quiet] =
      status_of(fixture("shuffle_rows.cu", "void softmax_rows(float* out, const float* inp, int N, int C)"));
  EXPECT_EQ(good, 0) << quiet;
  const auto [bad, report] =
      status_of(fixture("race.cu", "void softmax(const float* in, float* out, int rows, int V)"));
  EXPECT_EQ(bad, 66) << report;
  EXPECT_NE(report.find("data race"), std::string::npos) << report;
  EXPECT_NE(report.find("race.cu:"), std::string::npos) << report;
}

TEST(HostSource, KeepsLinesAndQuotedText) {
  const std::string source =
      "// k<<<1, 1>>>(x) stays\n"
      "const char* s = \"k<<<1, 1>>>(x) __shared__\"; auto r = R\"(\n__shared__ int a;)\";\n"
      "__global__ void k(int* p) {\n  __shared__ float a[4]\n    [8], b;\n  __shared__ alignas(16) struct { "
      "int n; } c;\n}\n"
      "void f(int* p) {\n  k<<<1,\n    2>>>(p /* > */);\n  t::k<int, (3 > 2)><<<dim3(1), f<2>(), 0, s>>>(p, "
      "g(1, 2));\n}\n";
  const std::string out = host_source(source, "a \"b\".cu", [](std::string_view) { return std::string(); });
  EXPECT_TRUE(out.starts_with("#line 1 \"a \\\"b\\\".cu\"\n")) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  EXPECT_NE(out.find("// k<<<1, 1>>>(x) stays"), std::string::npos);
  EXPECT_NE(out.find("\"k<<<1, 1>>>(x) __shared__\""), std::string::npos);
  EXPECT_NE(out.find("\n__shared__ int a;)\""), std::string::npos);
  EXPECT_EQ(out.find("__shared__ float"), std::string::npos) << out;
  EXPECT_NE(out.find("::assay_cuda::launch(dim3(1), f<2>(), 0, s)"), std::string::npos) << out;
  EXPECT_NE(out.find("t :: k < int , ( 3 > 2 ) >(assay_a...)"), std::string::npos) << out;
}

TEST(HostSource, LaunchesInMacrosThatGoOnInTheNextLine) {
  const std::string source =
      "#define L(n, x) case n: \\\n  k<n, float> \\\r\n  <<<rows, 32, /* a */ \\\n 0, s>>>(in, \\\n #x); \\\n"
      "  break;\nvoid f() {\n  __shared__ int \\\n a;\n}\n";
  const std::string out = host_source(source, "m.cu", [](std::string_view) { return std::string(); });
  EXPECT_EQ(out.find("<<<"), std::string::npos) << out;
  EXPECT_NE(out.find("k < n , float >(assay_a...)"), std::string::npos) << out;
  EXPECT_NE(out.find("#x"), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  // Every line of the macro but its last goes on.
  std::istringstream lines(out.substr(out.find("#define")));
  std::string line;
  for (int n = 0; n < 5; ++n) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.ends_with("\\") || line.ends_with("\\\r")) << line;
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.ends_with("break;")) << line;
}

TEST(OneFile, RareWordsAndSplicedMacros) {
  OneFile f = fixture("rare_words.cu",
                      "[[nodiscard]] cudaError_t softmax(const float* in, float* out, int rows, int V, "
                      "cudaStream_t stream = cudaStream_t{})");
  const Loaded l(compile_one_file(f));
  ASSERT_TRUE(l.plugin);
  EXPECT_LT(worst_difference(l, l.plugin->variants[0], 3, 100, 100), 1e-6);
}

TEST(OneFile, SaysInOneLineWhyTheFunctionCannotBeCalledLikeThat) {
  const auto ends = [](const char* entry, const std::string& end) {
    const OneFile f = fixture("places.cu", entry);
    const std::string text = refusal(f);
    EXPECT_TRUE(text.starts_with(f.source)) << text;
    EXPECT_NE(text.find(end), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  ends("void plain(const float* in, float* out, int rows, int V)",
       ": 'plain' takes more arguments than --entry gives it: it is 'void plain(const float*, float*, int, "
       "int, ");
  ends("void few(const float* in, float* out, int rows, int V, cudaStream_t s)",
       ": 'few' takes fewer arguments than --entry gives it: it is 'void few(");
  ends("void inner(const float* in, float* out, int rows, int V)",
       ": has no function 'inner', but 'a::b::inner': --entry takes the whole name");
  ends("void go(const float* in, float* out, int rows, int V)", "but 'a::Softmax::go': ");
  ends("void a::Softmax::go(const float* in, float* out, int rows, int V)",
       ": 'a::Softmax::go' is called on an object: ");
  ends("void few(const half* in, half* out, int rows, int V)", " does not compile as --entry calls 'few': ");
  EXPECT_EQ(refusal(fixture("places.cu", "void a::b::inner(const float* in, float* out, int rows, int V)")),
            "accepted");
}

TEST(OneFile, LaunchersThatMacrosMakeAndTemplates) {
  for (const char* entry :
       {"void softmax_float(const float* in, float* out, int rows, int V, cudaStream_t s)",
        "void launch<float>(const float* in, float* out, int rows, int V, cudaStream_t s)",
        "void launch<float, 64>(const float* in, float* out, int rows, int V, cudaStream_t s)"}) {
    const Loaded l(compile_one_file(fixture("extension.cu", entry)));
    ASSERT_TRUE(l.plugin) << entry;
    EXPECT_LT(worst_difference(l, l.plugin->variants[0], 3, 100, 100), 1e-6) << entry;
  }
  const auto says = [](const char* entry, const char* why, const char* flags = "") {
    OneFile f = fixture("extension.cu", entry);
    f.nvcc_flags = flags;
    const std::string text = refusal(f);
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  };
  says("void softmax_half(const half* in, half* out, int rows, int V)", "the macro 'DEFINE' (line ");
  says("void DEFINE(const half* in, half* out, int rows, int V)", ": 'DEFINE' is a macro (line ");
  says("void only_declared(const float* in, float* out, int rows, int V)",
       "nothing that is compiled here defines `only_declared(");
  // The file's own error is the reason, whatever the entry says.
  says("void nowhere(const float* in, float* out, int rows, int V)", "extension.cu:6:2: error: #error broken",
       "-DBROKEN");
}

TEST(OneFile, NvccWithTheFlagsOfExtensions) {
  try {
    find_nvcc();
  } catch (const std::exception& e) {
    GTEST_SKIP() << e.what();
  }
  OneFile f = fixture("extension.cu",
                      "void softmax_float(const float* in, float* out, int rows, int V, cudaStream_t s)");
  f.host = false;
  for (const char* flags : {"-lcublas -DUSE_CUBLAS", "-std=c++20 --extended-lambda"}) {
    f.nvcc_flags = flags;
    EXPECT_EQ(refusal(f), "accepted") << flags;
  }
}

TEST(OneFile, NamesAWordThatTheExecutorDoesNotHave) {
  const std::string text =
      refusal(fixture("unknown_word.cu", "void softmax(const float* in, float* out, int rows, int V)"));
  EXPECT_NE(text.find("unknown_word.cu:8:"), std::string::npos) << text;
  EXPECT_NE(text.find("unsupported: executor: __viaddmax_s32 ("), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
