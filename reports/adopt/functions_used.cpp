// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/functions_used.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "kernels/adapter/entry/tokens.hpp"

namespace assay {
namespace {

/// The name and the type of a function.
using NameAndType = std::pair<std::string, Dtype>;

std::vector<NameAndType> names_used(const Variant& v) {
  const Claim& c = v.claim;
  const Dtype internals = c.internals == Internals::f32   ? Dtype::f32
                          : c.internals == Internals::f16 ? Dtype::f16
                                                          : Dtype::bf16;
  std::vector<NameAndType> names;
  if (v.op == Op::topk || v.op == Op::softmax_backward) return names;  // comparisons, sums and products
  names.emplace_back(function_of(c.exp), c.exp == Exp::half ? internals : Dtype::f32);
  if (logarithms(v.op)) {
    names.emplace_back("logf", Dtype::f32);
    return names;
  }
  if (c.division == Division::approximate)
    names.emplace_back("__fdividef", Dtype::f32);
  else if (internals != Dtype::f32)
    names.emplace_back("__hdiv", internals);
  else
    names.emplace_back(c.division == Division::reciprocal ? "1/x" : "x/y", Dtype::f32);
  return names;
}

}  // namespace

FunctionsUsed functions_used(const Variant& v) {
  if (v.backend == Backend::plugin)
    return {{}, "which exp and division a kernel from elsewhere uses is not known"};
  const Backend backend = on_host(v.backend) ? Backend::host : Backend::cuda;
  FunctionsUsed used;
  for (const auto& [name, dtype] : names_used(v)) {
    const std::vector<functions::Function>& known = functions::functions();
    const auto at =
        std::find_if(known.begin(), known.end(), [&, &name = name, &dtype = dtype](const auto& f) {
          return f.name == name && f.dtype == dtype && f.backend == backend;
        });
    if (at != known.end()) used.all.push_back(&*at);
  }
  if (used.all.empty()) used.why_none = "it uses no exp, log or division";
  return used;
}

namespace {

/// The words of a source, and "x/y" and "1/x" for its divisions. Most "/" divide whole numbers, and a test
/// too many does no harm.
std::set<std::string, std::less<>> words_and_divisions(const std::vector<std::string>& texts) {
  std::set<std::string, std::less<>> words;
  for (const std::string& text : texts) {
    std::string_view before;
    for (const SourceToken& t : source_tokens(text)) {
      if (t.kind == SourceToken::blank) continue;
      if (t.kind == SourceToken::word) words.emplace(t.spelling);
      if (t.is("/")) {
        const bool one = before == "1" || before == "1.f" || before == "1.0f" || before == "1.0";
        words.emplace(one ? "1/x" : "x/y");
      }
      before = t.spelling;
    }
  }
  return words;
}

/// In C++ these names, with or without std::, are also those of the functions of float.
constexpr std::pair<const char*, const char*> kOverloaded[] = {
    {"exp", "expf"}, {"exp2", "exp2f"}, {"log", "logf"}};

/// Functions that this program does not test on their own, and a softmax may use.
constexpr const char* kUntested[] = {"exp10",  "exp10f",   "__exp10f", "expm1",  "expm1f",  "pow",
                                     "powf",   "__powf",   "log2",     "log2f",  "__log2f", "log10",
                                     "log10f", "__log10f", "log1p",    "log1pf", "hlog",    "hlog2",
                                     "h2exp",  "h2exp2",   "h2log",    "tanh",   "tanhf",   "sigmoid"};

/// What nvcc puts in the place of a function with --use_fast_math (CUDA C++ Programming Guide, intrinsic
/// functions).
constexpr std::pair<const char*, const char*> kFast[] = {{"expf", "__expf"},
                                                         {"exp2f", "ex2.approx.ftz.f32"},
                                                         {"logf", "__logf"},
                                                         {"x/y", "__fdividef"},
                                                         {"1/x", "rcp.approx.ftz.f32"}};

}  // namespace

FunctionsUsed functions_named(const Variant& v, const std::vector<std::string>& texts,
                              const std::string& flags) {
  auto words = words_and_divisions(texts);
  for (const auto& [overloaded, of_float] : kOverloaded)
    if (words.contains(overloaded)) words.emplace(of_float);
  const Backend backend = v.on_executor ? Backend::host : Backend::cuda;
  if (backend == Backend::cuda && flags.find("use_fast_math") != flags.npos)
    for (const auto& [usual, fast] : kFast)
      if (words.erase(usual) > 0) words.emplace(fast);
  FunctionsUsed used;
  for (const char* word : kUntested)
    if (words.contains(word)) used.untested.emplace_back(word);
  for (const functions::Function& f : functions::functions())
    if (f.backend == backend && words.contains(f.name) && (f.dtype == Dtype::f32 || f.dtype == v.dtype))
      used.all.push_back(&f);
  if (used.all.empty()) used.why_none = "its source names no exp, log or division that is tested here";
  return used;
}

}  // namespace assay
