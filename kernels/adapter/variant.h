// SPDX-License-Identifier: Apache-2.0
// ASSAY_VARIANT: the last line of a kernel's own file, which makes the file a plugin.
//
//   #ifdef ASSAY_VARIANT
//   ASSAY_VARIANT(my_softmax, launch_softmax<float>)
//   #endif
//
// The launcher's type says what its parameters are. Of the pointers, the one to const is the logits; then
// come the results, m and d. The integers are the number of rows, the row length V, k (if there are indices),
// and then the pitches of input and output. A cudaStream_t is the stream. A void* followed by a size_t is the
// workspace. A float is the scale, of min_p and top_p the threshold. Another order is given by name, and so
// are the op and a declaration:
//
//   ASSAY_VARIANT(my_lse, lse<float>, assay::order("out in V rows stream"), assay::op("lse"))
//   ASSAY_VARIANT(nucleus, launch_top_p, assay::op("top_p"), assay::order("in out rows V threshold stream"))
//   ASSAY_VARIANT(my_fast, fast<__half>, assay::declare("exp=fast; height=V/256+13"))
//   ASSAY_VARIANT(mine, launch, assay::workspace([](int64_t rows, int64_t V, int64_t k) -> uint64_t { return
//   8 * rows; }))
//
// `assay check my.cu` compiles the file without these lines, and puts this header and then the lines behind
// it. So between #ifdef and #endif stand only such lines and macros. Elsewhere, include <assay/variant.h>.
// Without it the #ifdef leaves the line out.
#ifndef ASSAY_VARIANT_H
#define ASSAY_VARIANT_H

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#if __has_include("plugin.h")
#include "adapter.h"
#else
#include "kernels/adapter/adapter.h"
#endif
#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace assay {

struct Order {
  const char* roles;
};
struct OpName {
  const char* name;
};
struct Declaration {
  const char* text;
};
struct Workspace {
  uint64_t (*bytes)(int64_t rows, int64_t V, int64_t k);
};
/// The launcher's parameters in order. The words are: in out inout indices rows V k in_pitch out_pitch pitch
/// stream workspace workspace_bytes m d scale mask_keep mask_drop bias bias_row lengths temperature
/// threshold.
constexpr Order order(const char* roles) { return {roles}; }
/// One of softmax, log_softmax, lse, normalizer, topk, softmax_topk, topk_softmax,
/// log_softmax_topk, min_p, top_p.
constexpr OpName op(const char* name) { return {name}; }
/// What the author promises, in the words of `assay check --help`.
constexpr Declaration declare(const char* text) { return {text}; }
constexpr Workspace workspace(uint64_t (*bytes)(int64_t, int64_t, int64_t)) { return {bytes}; }

}  // namespace assay

namespace assay_adapter {

/// What a launcher's T* points to: float is {"f32", 4}; nothing where it is no real type.
struct RealType {
  const char* name;
  int bytes;
};
template <class T>
constexpr RealType real_type() {
  if constexpr (std::is_same_v<T, float>)
    return {"f32", 4};
  else if constexpr (std::is_same_v<T, double>)
    return {"f64", 8};
#if defined(__CUDACC__) || defined(ASSAY_HOST_CUDA)
  else if constexpr (std::is_same_v<T, __half>)
    return {"f16", 2};
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return {"bf16", 2};
#endif
  else
    return {nullptr, 0};
}
/// Of the parameter's type: const float* is {"f32", 4}.
template <class A>
constexpr RealType pointed_at = real_type<std::remove_cv_t<std::remove_pointer_t<A>>>();

struct Extras {
  const char* order = nullptr;
  const char* op = nullptr;
  const char* declaration = nullptr;
  uint64_t (*workspace)(int64_t, int64_t, int64_t) = nullptr;
  void take(assay::Order o) { order = o.roles; }
  void take(assay::OpName o) { op = o.name; }
  void take(assay::Declaration d) { declaration = d.text; }
  void take(assay::Workspace w) { workspace = w.bytes; }
};

template <class A>
constexpr bool is_integer_pointer() {
  using E = std::remove_pointer_t<A>;
  if constexpr (std::is_pointer_v<A> && std::is_integral_v<E> && !std::is_const_v<E>) return sizeof(E) >= 4;
  return false;
}
template <class A>
constexpr bool is_real_pointer() {
  return std::is_pointer_v<A> && pointed_at<A>.name != nullptr;
}
template <class A>
constexpr bool is_const_pointer() {
  return std::is_pointer_v<A> && std::is_const_v<std::remove_pointer_t<A>>;
}

/// Size in bytes of what A points to. 0 for a void*.
template <class A>
constexpr std::size_t size_of_target() {
  using E = std::remove_pointer_t<A>;
  if constexpr (std::is_void_v<E> || std::is_function_v<E>)
    return 0;
  else if constexpr (!std::is_pointer_v<A>)
    return sizeof(A);
  else if constexpr (std::is_arithmetic_v<E>)
    return sizeof(E);
  else
    return 0;
}

template <class R, class... A>
struct Launcher {
  using Function = R (*)(A...);
  static constexpr std::size_t kCount = sizeof...(A);

  Function function;
  Extras extras;
  std::array<Part, kCount> parts{};
  std::string error;  // what is wrong with the extra arguments
  Needs needs;

  Launcher(Function f, Extras e) : function(f), extras(e) {
    extras.order ? read_order() : deduce();
    needs.stream = needs.takes_stream = has(Part::stream);
    needs.pitches = has(Part::in_pitch) && (has(Part::out_pitch) || has(Part::indices));
    needs.one_pitch = has(Part::pitch);
    needs.scale = has(Part::scale);
    needs.m = has(Part::m);
    needs.d = has(Part::d);
    needs.inout = has(Part::inout);
    needs.workspace = extras.workspace;
    out_bytes(std::index_sequence_for<A...>());
    index_bytes(std::index_sequence_for<A...>());
    if (error.empty() && !has(Part::in) && !has(Part::inout)) error = "no parameter is the logits";
    if (error.empty() && (!has(Part::rows) || !has(Part::V))) error = "rows or V is not among the parameters";
    if (error.empty() && extras.op && named_op() < 0)
      error = std::string("op: '") + extras.op + "' is none that a launcher can have";
    const bool keeps = op() == ASSAY_MIN_P || op() == ASSAY_TOP_P;
    if (error.empty() && keeps && !has(Part::threshold))
      error = std::string(extras.op) + ", and no parameter is the threshold";
    if (error.empty() && !threshold_is_a_float(std::index_sequence_for<A...>()))
      error = "the threshold is a float by value";
    if (error.empty() && !keeps && has(Part::threshold))
      error = "a threshold, and neither assay::op(\"min_p\") nor assay::op(\"top_p\")";
    if (error.empty() && has(Part::workspace) && !extras.workspace)
      error = "a workspace, and no assay::workspace(...)";
  }

  bool has(Part p) const {
    for (const Part q : parts)
      if (q == p) return true;
    return false;
  }
  int32_t operator()(const Arguments& a) const {
    if (!error.empty()) throw Refused("ASSAY_VARIANT: " + error);
    return call(a, std::index_sequence_for<A...>());
  }

  const char* dtype(bool input) const {
    const char* found = nullptr;
    std::size_t i = 0;
    const auto look = [&](const char* t, Part p) {
      const bool wanted = input ? p == Part::in || p == Part::inout : p == Part::out || p == Part::inout;
      if (wanted && t) found = t;
    };
    (look(pointed_at<A>.name, parts[i++]), ...);
    return found;
  }
  /// Of assay::op. -1 if nothing is said, or no op's name.
  int32_t named_op() const {
    // In the order of plugin.h. A backward pass is not declared in this way.
    constexpr const char* kNames[] = {
        "softmax",      "log_softmax", "lse",   "normalizer",      "topk", "softmax_topk", "",
        "topk_softmax", "min_p",       "top_p", "log_softmax_topk"};
    if (extras.op)
      for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i)
        if (*kNames[i] && std::strcmp(extras.op, kNames[i]) == 0) return i;
    return -1;
  }
  int32_t op() const {
    if (const int32_t named = named_op(); named >= 0) return named;
    if (has(Part::indices)) return ASSAY_SOFTMAX_TOPK;
    return has(Part::out) || has(Part::inout) ? ASSAY_SOFTMAX : ASSAY_NORMALIZER;
  }
  /// What it reads besides the logits, in the words of plugin.h. What is not judged for the op is refused
  /// when the file is loaded.
  std::string operands() const {
    std::string s;
    std::size_t i = 0;
    const auto one = [&](bool pointer, const char* real, std::size_t bytes, Part p) {
      std::string word;
      const std::string integer = bytes == 8 ? "i64" : bytes == 4 ? "i32" : "u8";
      for (const CallNumber& n : kNumbers)
        if (n.part == p && p != Part::threshold) word = kParts[static_cast<int>(p)];
      if (p == Part::temperature && pointer) word = "temperatures";
      if (p == Part::mask_keep || p == Part::mask_drop || p == Part::bias || p == Part::bias_row)
        word = std::string(kParts[static_cast<int>(p)]) + ":" + (real ? real : integer);
      if (p == Part::lengths) word = "lengths:" + integer;
      if (!word.empty()) s += (s.empty() ? "" : " ") + word;
    };
    (one(std::is_pointer_v<A>, pointed_at<A>.name, size_of_target<A>(), parts[i++]), ...);
    return s;
  }
  std::string declaration() const {
    std::string s = extras.declaration ? extras.declaration : "";
    const auto say = [&](const char* word, const std::string& value) {
      if (s.find(std::string(word) + "=") == s.npos)
        s += (s.empty() ? "" : "; ") + std::string(word) + "=" + value;
    };
    if (!needs.pitches) say("dense", "yes");
    std::size_t i = 0;
    const auto longest = [&](bool integer, std::size_t bytes, bool is_signed, Part p) {
      if (p == Part::V && integer && bytes == 4) say("max_V", is_signed ? "2147483647" : "4294967295");
    };
    (longest(std::is_integral_v<A>, sizeof(A), std::is_signed_v<A>, parts[i++]), ...);
    if (needs.m && needs.d && has(Part::out)) say("normalizer", "yes");
    if (needs.inout) say("in_place", "yes");
    if (!needs.stream && kDeviceType == 2) say("stream", "default");
    return s;
  }

 private:
  template <std::size_t... i>
  int32_t call(const Arguments& a, std::index_sequence<i...>) const {
    if constexpr (std::is_void_v<R>) {
      function(value_of<A>(parts[i], a)...);
      return 0;
    } else if constexpr (std::is_same_v<R, bool>) {
      return status_of_success(function(value_of<A>(parts[i], a)...));
    } else {
      return static_cast<int32_t>(function(value_of<A>(parts[i], a)...));
    }
  }
  template <std::size_t... i>
  bool threshold_is_a_float(std::index_sequence<i...>) const {
    return (... && (parts[i] != Part::threshold || std::is_floating_point_v<A>));
  }
  template <std::size_t... i>
  void out_bytes(std::index_sequence<i...>) {
    const auto look = [&](int bytes, Part p) {
      if (p == Part::out || p == Part::inout) needs.out_bytes = bytes;
    };
    (look(pointed_at<A>.bytes, parts[i]), ...);
  }
  template <std::size_t... i>
  void index_bytes(std::index_sequence<i...>) {
    const auto look = [&](int bytes, Part p) {
      if (p == Part::indices) needs.index_bytes = bytes;
    };
    (look(is_integer_pointer<A>()
              ? static_cast<int>(
                    sizeof(std::conditional_t<is_integer_pointer<A>(), std::remove_pointer_t<A>, int>))
              : 0,
          parts[i]),
     ...);
  }

  void deduce() {
    constexpr bool any_const = (... || (is_real_pointer<A>() && is_const_pointer<A>()));
    constexpr bool any_indices = (... || is_integer_pointer<A>());
    constexpr int reals = (... + (is_real_pointer<A>() ? 1 : 0));
    int written = any_const ? 1 : reals == 1 ? -1 : 0, numbers = 0;
    std::size_t i = 0;
    bool after_workspace = false;
    int values = 0;  // numbers that are not integers
    const Part outputs[] = {Part::in, Part::out, Part::m, Part::d};
    const Part integers[] = {Part::rows, Part::V, any_indices ? Part::k : Part::in_pitch,
                             any_indices ? Part::in_pitch : Part::out_pitch, Part::out_pitch};
    const auto one = [&](bool real, bool is_const, bool index, bool pointer, bool to_void, bool integer,
                         std::size_t bytes) {
      Part& p = parts[i++];
      if (real && is_const)
        p = Part::in;
      else if (real)
        p = written < 0 ? Part::inout : written < 4 ? outputs[written] : Part::none, ++written;
      else if (index)
        p = Part::indices;
      else if (pointer)
        p = to_void && i < kCount ? Part::workspace : Part::stream;
      else if (integer && after_workspace && bytes == 8)
        p = Part::workspace_bytes;
      else if (integer)
        p = numbers < 5 ? integers[numbers] : Part::none, ++numbers;
      else if (++values > 1 || any_indices)
        p = Part::none;  // a factor of the logits, one of the results, a temperature
      else
        p = named_op() == ASSAY_MIN_P || named_op() == ASSAY_TOP_P ? Part::threshold : Part::scale;
      after_workspace = p == Part::workspace;
      if (p == Part::none && error.empty())
        error =
            "parameter " + std::to_string(i) + " is not known what it is for: assay::order(\"...\") says it";
    };
    (one(is_real_pointer<A>(), is_const_pointer<A>(), is_integer_pointer<A>(), std::is_pointer_v<A>,
         std::is_void_v<std::remove_pointer_t<A>>, std::is_integral_v<A>, sizeof(A)),
     ...);
  }

  void read_order() {
    std::size_t i = 0;
    for (const char* s = extras.order; *s;) {
      const std::size_t n = std::strcspn(s, " ,");
      if (n > 0) {
        const std::string word(s, n);
        Part part = Part::none;
        for (int p = 1; p < static_cast<int>(std::size(kParts)); ++p)
          if (word == kParts[p]) part = static_cast<Part>(p);
        if (part == Part::none) error = "order: '" + word + "' is no role";
        if (i < kCount) parts[i] = part;
        ++i;
      }
      s += n;
      if (*s) ++s;
    }
    if (error.empty() && i != kCount)
      error = "order names " + std::to_string(i) + " parameters, the launcher has " + std::to_string(kCount);
  }
};

template <class R, class... A, class... E>
Launcher<R, A...> describe(R (*function)(A...), E... extras) {
  Extras all;
  (all.take(extras), ...);
  return Launcher<R, A...>(function, all);
}

/// One ASSAY_VARIANT as functions of the C ABI.
template <class Tag>
struct Registration {
  static const auto& launcher() {
    static const auto one = Tag::make();
    return one;
  }
  static int32_t run(const assay_call* call) {
    return assay_adapter::run(call, launcher().needs, [](const Arguments& a) { return launcher()(a); });
  }
  static uint64_t workspace_bytes(const assay_call* call) { return workspace_of(*call, launcher().needs); }
  static bool add(const char* name) {
    const auto& l = launcher();
    assay_variant v{};
    v.op = l.op();
    v.name = name;
    v.in_dtype = l.dtype(true) ? l.dtype(true) : "f32";
    v.out_dtype = l.dtype(false);
    v.declaration = registered().keep(l.declaration());
    v.operands = registered().keep(l.operands());
    v.run = run;
    v.workspace_bytes = workspace_bytes;
    if (!l.error.empty()) {  // no variant: the file is refused, with these words
      v.run = nullptr;
      v.declaration = registered().keep("ASSAY_VARIANT: " + l.error);
    }
    return assay_adapter::add(v);
  }
};

}  // namespace assay_adapter

#define ASSAY_JOIN_(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN_(a, b)
#define ASSAY_VARIANT(name, ...) ASSAY_VARIANT_AT(name, ASSAY_JOIN(assay_variant_, __COUNTER__), __VA_ARGS__)
#define ASSAY_VARIANT_AT(name, tag, ...)                                                                \
  namespace {                                                                                           \
  struct tag {                                                                                          \
    static auto make() { return ::assay_adapter::describe(__VA_ARGS__); }                               \
  };                                                                                                    \
  [[maybe_unused]] const bool ASSAY_JOIN(tag, _added) = ::assay_adapter::Registration<tag>::add(#name); \
  }

#endif
