// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/functions_used.hpp"

#include <algorithm>

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

}  // namespace assay
