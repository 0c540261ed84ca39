// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/subjects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "accuracy/case/case.hpp"
#include "kernels/cudnn.hpp"
#include "kernels/declaration.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/candidates.hpp"
#include "reports/sweep/rig/rig.hpp"

namespace assay {
namespace {

/// Any status but a failed execution means that cuDNN has no kernel for the shape: its dimensions are 32-bit.
void require_success(int status) {
  if (status == 0) return;
  const std::string text = fmt::format("cuDNN answers status {}", status);
  const bool failed = status == 8 || status / 1000 == 5;  // CUDNN_STATUS_EXECUTION_FAILED of versions 8 and 9
  if (failed) throw std::runtime_error(text);
  throw SweepUnsupported(text);
}

template <bool kAccurate>
void run_cudnn(const Problem& p, const Buffers& b, const Stream& s) {
  // A documented limit of cudnnSetTensor4dDescriptorEx: beyond it an offset may wrap.
  if (p.rows > INT32_MAX / std::max<std::int64_t>(1, p.V))
    throw SweepUnsupported("cuDNN's tensors end at 2^31 elements");
  require_success(cudnn_softmax(kAccurate, p, b, s));
}

/// cuDNN documents no accuracy. The declaration is the one that its outputs pass
/// (kernels/mutants/right_cudnn.cpp). FAST differs in that it subtracts no maximum.
Subject cudnn_peer(bool accurate, Dtype dtype) {
  Subject s;
  s.role = "peer";
  s.missing = cudnn_missing();
  Variant& v = s.variant;
  v.variant = accurate ? "cudnn_accurate" : "cudnn_fast";
  v.dtype = dtype;
  v.backend = Backend::cuda;
  v.claim = undeclared_claim();
  v.file = "cuDNN";
  v.writes_normalizer = false;
  v.run = accurate ? run_cudnn<true> : run_cudnn<false>;
  const std::string internals =
      dtype == Dtype::f32 ? "" : fmt::format("; internals={}; exp=half", name(dtype));
  const std::string algorithm =
      accurate ? "algorithm=safe; normalise=recomputed" : "algorithm=naive; normalise=recomputed";
  apply_declaration(algorithm + (internals.empty() ? "; exp=fast" : internals) + "; finite=yes", v);
  return s;
}

}  // namespace

const std::vector<Subject>& sweep_subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> list;
    // A rig has no gradients, and uses any number of rows (so no causal squares).
    for (const Variant& v : registry())
      if (not_plain_rows(v.claim, v.op).empty()) list.push_back({v});
    if (built_with_cuda())
      for (const bool accurate : {true, false})
        for (const Dtype t : {Dtype::f32, Dtype::f16, Dtype::bf16}) list.push_back(cudnn_peer(accurate, t));
    return list;
  }();
  return all;
}

const Subject* find_subject(std::string_view key) {
  for (const Subject& s : sweep_subjects())
    if (s.variant.key() == key) return &s;
  // Planted faults are looked up one by one and kept.
  static std::vector<std::unique_ptr<Subject>> others;
  for (const auto& s : others)
    if (s->variant.key() == key) return s.get();
  const Variant* const v = find_candidate(key);
  if (!v) return nullptr;
  others.push_back(std::make_unique<Subject>(Subject{*v}));
  return others.back().get();
}

}  // namespace assay
