#include "kernels/adapter/compile/host_source.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "kernels/adapter/entry/source_tokens.hpp"

namespace assay {
namespace {

using Tokens = std::vector<SourceToken>;

/// Headers whose words host_runtime.hpp has.
constexpr std::string_view kProvided[] = {"cuda.h",
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
/// Headers with a file of the executor's own in their place.
struct Replaced {
  std::string_view header, by;
};
constexpr Replaced kReplaced[] = {{"cooperative_groups.h", "cooperative_groups.hpp"},
                                  {"cooperative_groups/reduce.h", "cooperative_groups.hpp"},
                                  {"cub/cub.cuh", "cub.hpp"},
                                  {"cub/block/block_reduce.cuh", "cub.hpp"},
                                  {"cub/warp/warp_reduce.cuh", "cub.hpp"},
                                  {"cub/thread/thread_operators.cuh", "cub.hpp"},
                                  {"cub/util_type.cuh", "cub.hpp"},
                                  {"cub/version.cuh", "cub.hpp"}};
/// Libraries and headers of what the executor does not speak, by how their names begin.
constexpr std::string_view kForeign[] = {"cooperative_groups/",
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
/// Words of the same, which need no header.
constexpr std::string_view kForeignWords[] = {"asm",
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
/// CUDA's words that the C library has too, at global scope, for itself.
constexpr std::string_view kClashing[] = {"__expf",   "__logf",  "__log2f", "__log10f", "__powf",
                                          "__exp10f", "__sqrtf", "exp10f",  "rsqrtf",   "rsqrt"};
template <std::size_t n>
bool contains(const std::string_view (&all)[n], std::string_view s) {
  return std::find(std::begin(all), std::end(all), s) != std::end(all);
}

/// The name and its delimiter, "name" or <name>, of an #include; empty for any other directive.
std::string_view included(std::string_view directive) {
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

class Rewriter {
 public:
  Rewriter(std::string_view source, const IncludeResolver& resolve, bool in_macro, int& serial)
      : t_(source_tokens(source)), resolve_(resolve), serial_(serial), in_macro_(in_macro) {
    for (std::size_t i = 0; i < t_.size(); ++i)
      if (t_[i].kind != SourceToken::blank && t_[i].kind != SourceToken::directive) live_.push_back(i);
    find_functions();
    for (std::size_t s = 0; s < live_.size(); ++s) {
      if (opens_launch(s)) find_launch(s);
      if (at(s).is("__shared__")) find_shared(s);
    }
  }

  std::string all() { return from_to(0, t_.size()); }

 private:
  struct LaunchAt {
    std::size_t angle, close_angle, open, close;  // live indices of <<<, >>>, ( and )
  };
  struct SharedAt {
    std::size_t end;  // live index of ';'
  };

  const SourceToken& at(std::size_t live) const { return t_[live_[live]]; }
  bool word(std::size_t live, std::string_view s) const { return live < live_.size() && at(live).is(s); }
  /// Live tokens s, s+1, s+2 are this character three times, with nothing between.
  bool triple(std::size_t s, std::string_view c) const {
    return s + 2 < live_.size() && at(s).is(c) && at(s + 1).is(c) && at(s + 2).is(c) &&
           live_[s + 2] == live_[s] + 2;
  }
  bool opens_launch(std::size_t s) const { return triple(s, "<") && s > 0; }

  std::size_t close_of(std::size_t s, std::string_view open, std::string_view close) const {
    int depth = 0;
    for (; s < live_.size(); ++s) {
      if (at(s).is(open)) ++depth;
      if (at(s).is(close) && --depth == 0) return s;
    }
    return live_.size();
  }

  /// Which braces are bodies of functions: what stands before them is no namespace, class or enum.
  void find_functions() {
    function_.assign(live_.size(), in_macro_);
    std::vector<bool> open;
    bool inside = in_macro_;
    std::size_t statement = 0;
    for (std::size_t s = 0; s < live_.size(); ++s) {
      function_[s] = inside;
      if (at(s).is("{")) {
        bool scope = false, call = false;
        for (std::size_t i = statement; i < s; ++i) {
          scope |= at(i).is("namespace") || at(i).is("struct") || at(i).is("class") || at(i).is("union") ||
                   at(i).is("enum") || (at(i).is("extern") && at(i + 1).kind == SourceToken::text);
          call |= at(i).is("(");
        }
        open.push_back(inside);
        // struct S f() { is a function, namespace N { is not.
        inside = inside || !scope || (call && !at(statement).is("namespace"));
        statement = s + 1;
      } else if (at(s).is("}")) {
        if (!open.empty()) {
          inside = open.back();
          open.pop_back();
        }
        statement = s + 1;
      } else if (at(s).is(";")) {
        statement = s + 1;
      }
    }
  }

  /// Where the expression that names the kernel begins: ns::kernel<T, 256>, (kernel).
  std::size_t kernel_begin(std::size_t angle) const {
    std::size_t s = angle;
    if (s == 0) return angle;
    --s;
    if (at(s).is(")")) {
      int depth = 0;
      for (;; --s) {
        if (at(s).is(")")) ++depth;
        if (at(s).is("(") && --depth == 0) return s;
        if (s == 0) return angle;
      }
    }
    for (;;) {
      if (at(s).is(">")) {
        int angles = 0, rounds = 0;
        for (;; --s) {
          if (at(s).is(")")) ++rounds;
          if (at(s).is("(")) --rounds;
          if (rounds == 0 && at(s).is(">")) ++angles;
          if (rounds == 0 && at(s).is("<") && --angles == 0) break;
          if (s == 0) return angle;
        }
        if (s == 0) return angle;
        --s;
      }
      if (at(s).kind != SourceToken::word) return angle;
      if (s > 0 && at(s - 1).is("template")) --s;
      if (s == 0 || !at(s - 1).is("::")) return s;
      --s;
      if (s == 0 || (at(s - 1).kind != SourceToken::word && !at(s - 1).is(">"))) return s;
      if (at(s - 1).is("return")) return s;
      --s;
    }
  }

  /// The word belongs to somebody: a.word, a->word, ns::word.
  bool member(std::size_t s) const {
    return s > 0 &&
           (at(s - 1).is(".") || at(s - 1).is("::") || (at(s - 1).is(">") && s > 1 && at(s - 2).is("-")));
  }

  void find_launch(std::size_t angle) {
    const std::size_t begin = kernel_begin(angle);
    if (begin == angle) return;
    int depth = 0;
    for (std::size_t s = angle + 3; s < live_.size(); ++s) {
      if (at(s).is("(") || at(s).is("[") || at(s).is("{")) ++depth;
      if (at(s).is(")") || at(s).is("]") || at(s).is("}")) --depth;
      if (depth < 0) return;
      if (depth == 0 && triple(s, ">") && !(triple(s + 1, ">"))) {
        if (!word(s + 3, "(")) return;
        const std::size_t close = close_of(s + 3, "(", ")");
        if (close < live_.size()) launches_[begin] = {angle, s, s + 3, close};
        return;
      }
    }
  }

  void find_shared(std::size_t s) {
    std::size_t begin = s;
    for (;;) {
      if (begin == 0) break;
      const SourceToken& before = at(begin - 1);
      if (before.is("extern") || before.is("static") || before.is("volatile") || before.is("__device__") ||
          before.is("const")) {
        --begin;
      } else if (before.is(")")) {
        std::size_t open = begin - 1;
        int depth = 0;
        for (;; --open) {
          if (at(open).is(")")) ++depth;
          if (at(open).is("(") && --depth == 0) break;
          if (open == 0) return;
        }
        if (open == 0 || !(at(open - 1).is("alignas") || at(open - 1).is("__align__"))) break;
        begin = open - 1;
      } else {
        break;
      }
    }
    int depth = 0;
    for (std::size_t e = s; e < live_.size(); ++e) {
      if (at(e).is("(") || at(e).is("{") || at(e).is("[")) ++depth;
      if (at(e).is(")") || at(e).is("}") || at(e).is("]")) --depth;
      if (depth < 0) return;
      if (depth == 0 && at(e).is(";")) {
        shared_[begin] = {e};
        return;
      }
    }
  }

  /// The line breaks of tokens [from, to) but for as many as `text`, written for them, has: what follows
  /// keeps its line. In a macro each is a splice.
  std::string breaks(std::size_t from, std::size_t to, std::string_view text) const {
    std::ptrdiff_t n = -std::count(text.begin(), text.end(), '\n');
    for (std::size_t i = from; i < to; ++i)
      n += std::count(t_[i].spelling.begin(), t_[i].spelling.end(), '\n');
    std::string s;
    for (; n > 0; --n) s += in_macro_ ? "\\\n" : "\n";
    return s;
  }
  /// The source of live tokens [from, to), unchanged but for line breaks.
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

  /// __shared__ T a[N][M], b; as references into the block's shared memory, or extern T a[] as a pointer.
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
    // The type runs to the word before the first '[', ',' or the end, outside of <> and {}.
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
        // Of T name[][M] the elements are T[M].
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
        if (file == r.header) return "#include \"kernels/host/" + std::string(r.by) + "\"";
      if (std::any_of(std::begin(kForeign), std::end(kForeign),
                      [&](std::string_view f) { return file.starts_with(f); }))
        return "#error " + std::string(kNotExecutable) + "<" + std::string(file) + ">";
      if (name[0] == '"')
        if (const std::string other = resolve_(file); !other.empty()) return "#include \"" + other + "\"";
      return std::string(token.spelling);
    }
    // The body of a macro is code too.
    std::size_t i = token.spelling.find_first_not_of(" \t", 1);
    if (i == token.spelling.npos || !token.spelling.substr(i).starts_with("define"))
      return std::string(token.spelling);
    i += 6;
    return std::string(token.spelling.substr(0, i)) +
           Rewriter(token.spelling.substr(i), resolve_, true, serial_).all();
  }

  std::string refused(const SourceToken& token) const {
    if (in_macro_)
      return std::string(token.spelling);  // an error only where the macro is used: the compiler's own
    return "_Pragma(\"GCC error \\\"" + std::string(kNotExecutable) +
           (token.is("asm") || token.is("__asm__") || token.is("__asm") ? std::string("inline PTX (asm)")
                                                                        : std::string(token.spelling)) +
           "\\\"\") " + std::string(token.spelling);
  }

  /// Tokens [from, to), rewritten.
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
        launches_.erase(l);  // the arguments may begin another, never this one again
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

  Tokens t_;
  std::vector<std::size_t> live_;  // tokens that are neither blank nor directives
  std::vector<bool> function_;     // of live tokens: inside a function's body
  std::map<std::size_t, LaunchAt> launches_;
  std::map<std::size_t, SharedAt> shared_;
  const IncludeResolver& resolve_;
  int& serial_;
  bool in_macro_;
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
