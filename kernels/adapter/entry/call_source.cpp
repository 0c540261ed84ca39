// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/call_source.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"

namespace assay {
namespace {

/// Types that mean the same in every file, because C++, its library or CUDA declares them.
constexpr std::string_view kEverywhere[] = {
    "float",        "double",         "bool",          "void",    "half",      "__half",  "nv_half",
    "__nv_half",    "nv_bfloat16",    "__nv_bfloat16", "half2",   "__half2",   "float2",  "float4",
    "nv_bfloat162", "__nv_bfloat162", "int8_t",        "int16_t", "int32_t",   "int64_t", "uint8_t",
    "uint32_t",     "uint64_t",       "size_t",        "ssize_t", "ptrdiff_t", "uint",    "ulong",
    "std::byte",    "cudaStream_t",   "CUstream"};

bool is_everywhere(const Parameter& p) {
  if (std::find(std::begin(kEverywhere), std::end(kEverywhere), p.base) != std::end(kEverywhere)) return true;
  return p.scalar != Scalar::own_integer && is_integer_word(p.base.substr(0, p.base.find(' ')));
}
/// A value of one of these needs its definition, which only CUDA's headers have.
bool is_class(const Parameter& p) {
  return p.scalar == Scalar::f16 || p.scalar == Scalar::bf16 || p.base == "float2" || p.base == "float4";
}

bool has_words(std::string_view text) {
  for (const EntryToken& t : entry_tokens(text))
    if (t.kind == EntryToken::word && !t.is("true") && !t.is("false") && !t.is("nullptr") && !t.is("NULL"))
      return true;
  return false;
}

/// A value without names. NULL is a macro, which the file might have made another one.
std::string plain_value(const std::string& literal) {
  std::string s;
  for (const EntryToken& t : entry_tokens(literal))
    s += (s.empty() ? "" : " ") + std::string(t.is("NULL") ? "__null" : t.spelling);
  return s;
}

/// No macro of the text in front reaches `text`.
std::string without_macros(const std::string& text) {
  std::set<std::string_view> words;
  for (const SourceToken& t : source_tokens(text))
    if (t.kind == SourceToken::word) words.insert(t.spelling);
  std::string s;
  for (const std::string_view w : words) s += "#undef " + std::string(w) + "\n";
  return s;
}

const std::string& with_pointers(std::string& type, int pointers) {
  for (auto n = std::count(type.begin(), type.end(), '*'); n < pointers; ++n) type += "*";
  return type;
}

}  // namespace

Slot slot_of(const Parameter& p) {
  if (p.formula) return Slot::number;
  if (p.role == Role::literal) return Slot::literal;
  if (p.pointers > 0 || p.scalar == Scalar::stream) return Slot::pointer;
  return p.is_integer() ? Slot::number : Slot::real;
}

std::string call_source(const std::vector<EntrySignature>& entries, const std::string& suffix) {
  const std::string misfit = "assay_misfit" + suffix, number = "assay_number" + suffix,
                    own = "assay_own_integer" + suffix, no_status = "assay_no_status" + suffix;
  std::string named, t;
  t += "struct " + misfit + " {\n  int place;\n};\n";
  t += "template <class T>\nstatic T " + number +
       "(long long n, int place) {\n  const T t = static_cast<T>(n);\n"
       "  if (static_cast<long long>(t) != n || (t < T(0)) != (n < 0)) throw " +
       misfit + "{place};\n  return t;\n}\n";
  // Converts to an integer type whose name is the file's. In braces it has no type that a template could
  // take.
  t += "struct " + own +
       " {\n  long long n;\n  int place;\n  template <class T>\n  operator T() const {\n    return " +
       number + "<T>(n, place);\n  }\n};\n";
  // False of a type that may be a status. If --entry says void, the errors of a status would be lost.
  t += "template <class T>\nstruct " + no_status + " {\n  static constexpr bool value = !__is_enum(T);\n};\n";
  for (const char* status : {"int", "bool"})
    t += "template <>\nstruct " + no_status + "<" + status +
         "> {\n  static constexpr bool value = false;\n};\n";
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const EntrySignature& s = entries[e];
    const std::string at = std::to_string(e), name = "assay_call_" + at + suffix;
    std::string arguments;
    for (std::size_t i = 0; i < s.parameters.size(); ++i) {
      const Parameter& p = s.parameters[i];
      const std::string place = std::to_string(i), of_place = at + "_" + place + suffix;
      const std::string type =
          (p.read_only && p.pointers > 0 ? "const " : "") + p.base + (p.pointers > 0 ? "*" : "");
      const Slot slot = slot_of(p);
      if (slot != Slot::literal && p.scalar != Scalar::own_integer && !is_everywhere(p))
        // The name of a type of the file's. A macro would not be what the file's own function was declared
        // with.
        named += "#ifdef " + p.base + "\n#error " + std::string(kMacroInEntry) + p.base + "\n#endif\n";
      std::string a;
      if (slot == Slot::literal && has_words(p.literal)) {
        // It may be a macro of the file's. It is read here, where no call stands around it.
        named += "static auto assay_value_" + of_place + "() { return (" + p.literal + "); }\n";
        a = "assay_value_" + of_place + "()";
      } else if (slot == Slot::literal) {
        a = plain_value(p.literal);
      } else if (slot == Slot::number && p.scalar == Scalar::own_integer) {
        a = "{" + own + "{n[" + place + "], " + place + "}}";
      } else if (slot == Slot::number) {
        a = number + "<" + type + ">(n[" + place + "], " + place + ")";
      } else {
        a = "(" + type + ")" + (slot == Slot::pointer ? "p[" : "r[") + place + "]";
      }
      arguments += (i ? ",\n          " : "\n          ") + a;
    }
    const std::string parameters = "(void* const* p, const long long* n, const float* r, int* misfit)";
    t += "extern \"C\" __attribute__((visibility(\"hidden\"))) long long " + name + parameters + ";\n";
    t += "extern \"C\" long long " + name + parameters + " {\n  (void)p, (void)n, (void)r;\n  try {\n    ";
    const std::string call = s.function + "(" + arguments + ")";
    if (s.returned == Returned::nothing)
      t += call + ";\n    static_assert(" + no_status + "<decltype(" + call +
           ")>::value, \"the file's function " + s.function +
           " returns a status or a bool: write its type in place of void\");\n    return 0;\n";
    else
      t += "return static_cast<long long>(" + call + ");\n";
    t += "  } catch (const " + misfit + "& e) {\n    *misfit = e.place;\n    return 0;\n  }\n}\n";
  }
  return without_macros("static auto return") + named + without_macros(t) + t;
}

std::string call_declarations(std::size_t entries) {
  std::string t;
  for (std::size_t e = 0; e < entries; ++e)
    t += "extern \"C\" __attribute__((visibility(\"hidden\"))) long long assay_call_" + std::to_string(e) +
         "(void* const* p, const long long* n, const float* r, int* misfit);\n";
  return t;
}

std::string no_prototype(const EntrySignature& s) {
  if (s.function.find('<') != s.function.npos) return "a template's instance";
  for (const Parameter& p : s.parameters) {
    if (!is_everywhere(p)) return "a type of the file's own: " + p.base;
    if (p.pointers == 0 && is_class(p)) return "a parameter of type " + p.base;
    if (slot_of(p) == Slot::literal && has_words(p.literal)) return "a value of the file's own: " + p.literal;
  }
  return {};
}

std::string prototypes(const std::vector<EntrySignature>& entries, bool host) {
  std::string t =
      "#include <stddef.h>\n#include <stdint.h>\n#include <sys/types.h>\n\n#include <cstddef>\n\n";
  t +=
      host
          ? "namespace assay::host {\nstruct __half;\nstruct __half2;\nstruct __nv_bfloat16;\n"
            "struct __nv_bfloat162;\nnamespace words_detail {\ntemplate <class T, int N>\nstruct Vector;\n}\n"
            "using float2 = words_detail::Vector<float, 2>;\nusing float4 = words_detail::Vector<float, 4>;\n"
            "}\nusing namespace assay::host;\n"
          : "struct __half;\nstruct __half2;\nstruct __nv_bfloat16;\nstruct __nv_bfloat162;\n"
            "struct float2;\nstruct float4;\n";
  t += "using half = __half;\nusing nv_half = __half;\nusing __nv_half = __half;\nusing half2 = __half2;\n"
       "using nv_bfloat16 = __nv_bfloat16;\nusing nv_bfloat162 = __nv_bfloat162;\n"
       "typedef struct CUstream_st* cudaStream_t;\ntypedef cudaStream_t CUstream;\n\n";
  std::set<std::string> said;
  for (const EntrySignature& s : entries) {
    std::string one, closes, function = s.function;
    for (std::size_t at = function.find("::"); at != function.npos; at = function.find("::")) {
      if (at > 0) {
        one += "namespace " + function.substr(0, at) + " { ";
        closes += " }";
      }
      function.erase(0, at + 2);
    }
    one += (s.returned == Returned::nothing   ? "void "
            : s.returned == Returned::success ? "bool "
                                              : "int ") +
           function + "(";
    for (std::size_t i = 0; i < s.parameters.size(); ++i) {
      std::string type;
      for (const EntryToken& w : entry_tokens(s.parameters[i].type))
        if (!w.is("restrict") && !w.is("__restrict") && !w.is("__restrict__"))
          type += (type.empty() || w.is("::") || type.ends_with("::") ? "" : " ") + std::string(w.spelling);
      one += (i ? ", " : "") + with_pointers(type, s.parameters[i].pointers);
    }
    if (said.insert(one).second) t += one + ");" + closes + "\n";
  }
  return t;
}

}  // namespace assay
