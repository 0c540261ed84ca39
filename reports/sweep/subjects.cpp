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
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/rig/rules.hpp"

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
/// (kernels/mutants/right_libraries.cpp). FAST differs in that it subtracts no maximum.
Subject cudnn_peer(bool accurate, Dtype dtype) {
  Subject s;
  s.role = "peer";
  s.missing = cudnn_missing();
  Variant& v = s.variant;
  v.variant = accurate ? "cudnn_accurate" : "cudnn_fast";
  v.dtype = dtype;
  v.backend = Backend::cuda;
  v.claim = undeclared_claim(v.op);
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
      if (not_plain_rows(v, v.op).empty()) list.push_back({v});
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

namespace {

constexpr std::size_t kTiles = std::size_t{1} << 31;      // limit on all tiles, in bytes
constexpr std::int64_t kSamples = std::int64_t{1} << 24;  // limit on all samples; some 80 bytes each

/// Moves the entry to the front, then removes entries from the back until the limit holds.
template <class Pointer, class Size>
const Pointer& kept(std::list<Pointer>& list, typename std::list<Pointer>::iterator at, Size size,
                    decltype(size(*std::declval<const Pointer&>())) most) {
  list.splice(list.begin(), list, at);
  decltype(most) all = 0;
  for (auto i = list.begin(); i != list.end();) {
    all += size(**i);
    i = all > most && i != list.begin() ? list.erase(i) : std::next(i);
  }
  return list.front();
}

}  // namespace

SweepInputs::SweepInputs(const std::string& family, std::uint64_t seed)
    : family_(family_named(family)), seed_(seed) {}

std::int64_t SweepInputs::distinct_rows(std::int64_t V, std::int64_t rows) const {
  constexpr std::int64_t kAligned =
      16;  // rows of 2-byte elements that fill whole sectors of 32 bytes, for any V
  std::int64_t most = std::max<std::int64_t>(1, kTimingRules.tile_elements / std::max<std::int64_t>(1, V));
  if (most > kAligned) most -= most % kAligned;
  return std::min(rows, most);
}

const Tensor& SweepInputs::tile(Dtype dtype, std::int64_t V, std::int64_t rows) {
  const std::int64_t wanted = distinct_rows(V, rows);
  auto at = std::find_if(tiles_.begin(), tiles_.end(),
                         [&](const auto& t) { return t->dtype == dtype && t->V == V; });
  if (at != tiles_.end() && (*at)->rows < wanted) {
    tiles_.erase(at);
    at = tiles_.end();
  }
  if (at == tiles_.end())
    at = tiles_.insert(tiles_.end(),
                       std::make_unique<Tensor>(make_input(family_, dtype, V, wanted, seed_, 0)));
  return *kept(
      tiles_, at, [](const Tensor& t) { return t.bytes.size(); }, kTiles);
}

std::shared_ptr<const Case> SweepInputs::sample(Dtype dtype, std::int64_t V, std::int64_t rows) {
  const TimingRules& rules = kTimingRules;
  const std::int64_t several = std::clamp(rules.judged_elements / std::max<std::int64_t>(1, V),
                                          rules.least_judged_rows, rules.most_judged_rows);
  const std::int64_t wanted = std::min(several, distinct_rows(V, rows));
  auto at = std::find_if(samples_.begin(), samples_.end(), [&](const auto& c) {
    return c->dtype() == dtype && c->V() == V && c->rows() == wanted;
  });
  if (at == samples_.end())
    at = samples_.insert(samples_.end(), std::make_shared<const Case>(family_, dtype, V, wanted, seed_));
  return kept(
      samples_, at, [](const Case& c) { return c.rows() * c.V(); }, kSamples);
}

}  // namespace assay
