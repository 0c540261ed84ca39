// SPDX-License-Identifier: Apache-2.0
// Rewrites launches, shared memory, includes and words of a .cu file for the host executor.
#include "kernels/adapter/compile/host_source.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <vector>

namespace assay::host_words {

// CUDA's headers and words on the host executor: provided, replaced, unsupported, or renamed.

/// Headers whose words host_runtime.hpp provides.
inline constexpr std::string_view kProvided[] = {"cuda.h",
                                                 "cuda_runtime.h",
                                                 "cuda_runtime_api.h",
                                                 "cuda_fp16.h",
                                                 "cuda_fp16.hpp",
                                                 "cuda_bf16.h",
                                                 "cuda_bf16.hpp",
                                                 "device_launch_parameters.h",
                                                 "math_constants.h",
                                                 "math_functions.h",
                                                 "vector_types.h",
                                                 "vector_functions.h",
                                                 "device_functions.h",
                                                 "device_types.h",
                                                 "host_defines.h",
                                                 "driver_types.h",
                                                 "builtin_types.h",
                                                 "sm_20_intrinsics.h",
                                                 "sm_30_intrinsics.h",
                                                 "cuda_device_runtime_api.h"};
/// Headers that a file of the executor replaces.
struct Replaced {
  std::string_view header, by;
};
inline constexpr Replaced kReplaced[] = {{"cooperative_groups.h", "cooperative_groups.hpp"},
                                         {"cooperative_groups/reduce.h", "cooperative_groups.hpp"},
                                         {"cub/cub.cuh", "cub.hpp"},
                                         {"cub/block/block_reduce.cuh", "cub.hpp"},
                                         {"cub/warp/warp_reduce.cuh", "cub.hpp"},
                                         {"cub/thread/thread_operators.cuh", "cub.hpp"},
                                         {"cub/util_type.cuh", "cub.hpp"},
                                         {"cub/version.cuh", "cub.hpp"}};
/// Libraries and headers that the executor does not support, by how their names begin.
inline constexpr std::string_view kForeign[] = {"cooperative_groups/",
                                                "cub/",
                                                "cuda/",
                                                "thrust/",
                                                "mma.h",
                                                "cuda_fp8",
                                                "cuda_fp6",
                                                "cuda_fp4",
                                                "cuda_pipeline",
                                                "cuda_awbarrier",
                                                "cutlass/",
                                                "cute/",
                                                "curand",
                                                "cublas",
                                                "cudnn",
                                                "torch/",
                                                "ATen/",
                                                "c10/",
                                                "nvToolsExt"};
/// Unsupported words that need no header.
inline constexpr std::string_view kForeignWords[] = {"asm",
                                                     "__asm__",
                                                     "__asm",
                                                     "cudaLaunchKernel",
                                                     "cudaLaunchKernelEx",
                                                     "cudaLaunchKernelExC",
                                                     "cudaLaunchCooperativeKernel",
                                                     "cuLaunchKernel",
                                                     "__pipeline_memcpy_async",
                                                     "__cluster_dims__",
                                                     "tex1Dfetch",
                                                     "cudaGraphLaunch",
                                                     "cudaGridDependencySynchronize"};
/// CUDA's words that the C library also has at global scope, for its own use.
inline constexpr std::string_view kClashing[] = {"__expf",   "__logf",  "__log2f", "__log10f", "__powf",
                                                 "__exp10f", "__sqrtf", "exp10f",  "rsqrtf",   "rsqrt"};

template <std::size_t n>
bool contains(const std::string_view (&all)[n], std::string_view s) {
  return std::find(std::begin(all), std::end(all), s) != std::end(all);
}

/// The name in an #include with its delimiters, "name" or <name>. Empty for any other directive.
inline std::string_view included(std::string_view directive) {
  std::size_t i = 1;
  const auto blank = [&] { return i < directive.size() && (directive[i] == ' ' || directive[i] == '\t'); };
  while (blank()) ++i;
  if (!directive.substr(i).starts_with("include")) return {};
  i += 7;
  while (blank()) ++i;
  if (i >= directive.size() || (directive[i] != '"' && directive[i] != '<')) return {};
  const std::size_t end = directive.find(directive[i] == '<' ? '>' : '"', i + 1);
  return end == directive.npos ? std::string_view{} : directive.substr(i, end - i);
}

}  // namespace assay::host_words

namespace assay {
namespace {

using host_words::contains;
using host_words::included;
using host_words::kClashing;
using host_words::kForeign;
using host_words::kForeignWords;
using host_words::kProvided;
using host_words::kReplaced;
using host_words::Replaced;

class Rewriter : MarkedSource {
 public:
  Rewriter(std::string_view source, const IncludeResolver& resolve, bool in_macro, int& serial)
      : MarkedSource(source, in_macro), resolve_(resolve), serial_(serial) {}

  std::string all() { return from_to(0, t_.size()); }

 private:
  /// True if the word is a member of something: a.word, a->word, ns::word.
  bool member(std::size_t s) const {
    return s > 0 &&
           (at(s - 1).is(".") || at(s - 1).is("::") || (at(s - 1).is(">") && s > 1 && at(s - 2).is("-")));
  }

  /// The line breaks of tokens [from, to), less those that `text`, which replaces them, already has. So the
  /// code behind keeps its line number. In a macro each break is a spliced line.
  std::string breaks(std::size_t from, std::size_t to, std::string_view text) const {
    std::ptrdiff_t n = -std::count(text.begin(), text.end(), '\n');
    for (std::size_t i = from; i < to; ++i)
      n += std::count(t_[i].spelling.begin(), t_[i].spelling.end(), '\n');
    std::string s;
    for (; n > 0; --n) s += in_macro_ ? "\\\n" : "\n";
    return s;
  }
  /// The source of live tokens [from, to). Only line breaks are dropped.
  std::string raw(std::size_t from, std::size_t to) const {
    std::string s;
    for (std::size_t i = from; i < to; ++i) s += (i > from ? " " : "") + std::string(at(i).spelling);
    return s;
  }

  std::string launch(std::size_t begin, const LaunchAt& l) {
    const auto rewritten = [&](std::size_t from, std::size_t to) {
      return from == to ? std::string() : from_to(live_[from], live_[to - 1] + 1);
    };
    const std::string arguments = rewritten(l.open + 1, l.close);
    return "::assay_cuda::launch(" + rewritten(l.angle + 3, l.close_angle) + ")([&](auto&&... assay_a) { " +
           raw(begin, l.angle) + "(assay_a...); }" +
           (arguments.find_first_not_of(" \t\r\n") == arguments.npos ? "" : ", ") + arguments + ")";
  }

  /// Rewrites __shared__ T a[N][M], b; as references into the block's shared memory, or extern T a[] as a
  /// pointer.
  std::string shared(std::size_t begin, const SharedAt& d) {
    bool dynamic = false, is_volatile = false;
    std::vector<std::size_t> kept;  // live indices of type and declarators
    std::string align = "1";
    for (std::size_t s = begin; s < d.end; ++s) {
      const SourceToken& t = at(s);
      if (t.is("extern")) dynamic = true;
      if (t.is("volatile")) is_volatile = true;
      if (t.is("extern") || t.is("static") || t.is("__shared__") || t.is("volatile") || t.is("__device__"))
        continue;
      if ((t.is("alignas") || t.is("__align__")) && word(s + 1, "(")) {
        const std::size_t close = close_of(s + 1, "(", ")");
        align = raw(s + 2, std::min(close, d.end));
        s = close;
        continue;
      }
      kept.push_back(s);
    }
    const auto text = [&](std::size_t from, std::size_t to) {
      std::string s;
      for (std::size_t i = from; i < to; ++i) s += (i > from ? " " : "") + std::string(at(kept[i]).spelling);
      return s;
    };
    // The type ends with the word before the first '[' or ',' outside <> and {}, or at the end.
    std::size_t stop = 0;
    for (int depth = 0; stop < kept.size(); ++stop) {
      const SourceToken& t = at(kept[stop]);
      if (depth == 0 && (t.is("[") || t.is(","))) break;
      if (t.is("<") || t.is("{") || t.is("(")) ++depth;
      if (t.is(">") || t.is("}") || t.is(")")) --depth;
    }
    if (stop < 2 || at(kept[stop - 1]).kind != SourceToken::word) return raw(begin, d.end + 1);
    std::size_t type_end = stop - 1;
    while (type_end > 1 && at(kept[type_end - 1]).is("*")) --type_end;
    const bool function = function_[begin];
    const std::string alias =
        "assay_shared_" + std::to_string(at(begin).line) + "_" + std::to_string(serial_++);
    std::string out = "using " + alias + " = " + (is_volatile ? "volatile " : "") + text(0, type_end) + ";";
    for (std::size_t i = type_end; i < kept.size();) {
      std::string stars;
      for (; i < kept.size() && at(kept[i]).is("*"); ++i) stars += "*";
      if (i >= kept.size()) break;
      const std::string name(at(kept[i++]).spelling);
      const std::size_t dims = i;
      int depth = 0;
      for (; i < kept.size() && !(depth == 0 && at(kept[i]).is(",")); ++i) {
        if (at(kept[i]).is("[") || at(kept[i]).is("(")) ++depth;
        if (at(kept[i]).is("]") || at(kept[i]).is(")")) --depth;
      }
      const std::string type = alias + stars;
      if (dynamic) {
        // The elements of T name[][M] are T[M].
        std::size_t rest = dims;
        while (rest < i && !at(kept[rest]).is("]")) ++rest;
        const std::string inner = rest < i ? text(rest + 1, i) : "";
        if (function)
          out += " auto* const " + name + " = static_cast<" + type + " (*)" + inner +
                 ">(::assay::executor::dynamic_shared());";
        else
          out += " static ::assay_cuda::DynamicShared<" + type + inner + "> " + name + ";";
      } else {
        const std::string array = type + " " + text(dims, i);
        out += " auto& " + name + " = *static_cast<" + type + " (*)" + text(dims, i) +
               ">(::assay_cuda::shared([] { static const char tag = 0; return static_cast<const "
               "void*>(&tag); }(), sizeof(" +
               array + "), std::max<size_t>(alignof(" + alias + stars + "), " + align + ")));";
      }
      if (i < kept.size()) ++i;  // ','
    }
    return out;
  }

  std::string directive(const SourceToken& token) {
    const std::string_view name = included(token.spelling);
    if (!name.empty()) {
      const std::string_view file = name.substr(1);
      if (contains(kProvided, file)) return "/* " + std::string(file) + " */";
      for (const Replaced& r : kReplaced)
        if (file == r.header) {
          const std::string own = "kernels/host/" + std::string(r.by), path = resolve_(own, true);
          return "#include \"" + (path.empty() ? own : path) + "\"";
        }
      if (std::any_of(std::begin(kForeign), std::end(kForeign),
                      [&](std::string_view f) { return file.starts_with(f); }))
        return "#error " + std::string(kNotExecutable) + "<" + std::string(file) + ">";
      if (const std::string other = resolve_(file, name[0] == '"'); !other.empty())
        return "#include \"" + other + "\"";
      return std::string(token.spelling);
    }
    // The body of a macro is rewritten, too.
    std::size_t i = token.spelling.find_first_not_of(" \t", 1);
    if (i == token.spelling.npos || !token.spelling.substr(i).starts_with("define"))
      return std::string(token.spelling);
    i += 6;
    return std::string(token.spelling.substr(0, i)) +
           Rewriter(token.spelling.substr(i), resolve_, true, serial_).all();
  }

  std::string refused(const SourceToken& token) const {
    if (in_macro_) return std::string(token.spelling);  // the compiler reports it where the macro is used
    return "_Pragma(\"GCC error \\\"" + std::string(kNotExecutable) +
           (token.is("asm") || token.is("__asm__") || token.is("__asm") ? std::string("inline PTX (asm)")
                                                                        : std::string(token.spelling)) +
           "\\\"\") " + std::string(token.spelling);
  }

  /// Rewrites tokens [from, to).
  std::string from_to(std::size_t from, std::size_t to) {
    std::string out;
    std::size_t s =
        static_cast<std::size_t>(std::lower_bound(live_.begin(), live_.end(), from) - live_.begin());
    for (std::size_t i = from; i < to; ++i) {
      const SourceToken& token = t_[i];
      if (token.kind == SourceToken::directive) {
        out += directive(token);
        continue;
      }
      if (token.kind == SourceToken::blank) {
        out += token.spelling;
        continue;
      }
      const std::size_t here = s++;
      if (const auto l = launches_.find(here); l != launches_.end()) {
        const LaunchAt found = l->second;
        launches_.erase(l);  // the arguments may begin another launch, but never this one again
        const std::size_t end = live_[found.close] + 1;
        const std::string text = launch(here, found);
        out += text + breaks(i, end, text);
        i = end - 1;
        s = found.close + 1;
        continue;
      }
      if (const auto d = shared_.find(here); d != shared_.end()) {
        const std::size_t end = live_[d->second.end] + 1;
        const std::string text = shared(here, d->second);
        out += text + breaks(i, end, text);
        s = d->second.end + 1;
        i = end - 1;
        continue;
      }
      if (token.kind == SourceToken::word) {
        if (token.is("__noinline__"))
          out += "__attribute__((noinline))";
        else if (token.is("__align__"))
          out += "alignas";
        else if (token.is("__managed__") || token.is("__grid_constant__"))
          out += "";
        else if (contains(kClashing, token.spelling) && !member(here))
          out += "::assay_cuda::words::" + std::string(token.spelling);
        else if (contains(kForeignWords, token.spelling))
          out += refused(token);
        else
          out += token.spelling;
        continue;
      }
      out += token.spelling;
    }
    return out;
  }

  const IncludeResolver& resolve_;
  int& serial_;
};

}  // namespace

std::string host_source(std::string_view source, std::string_view path, const IncludeResolver& resolve) {
  int serial = 0;
  std::string line = "#line 1 \"";
  for (const char c : path) {
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line + "\"\n" + Rewriter(source, resolve, false, serial).all();
}

}  // namespace assay
