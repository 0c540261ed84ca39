// SPDX-License-Identifier: Apache-2.0
// The part of device batches that every build has. The rest is in device_batch.cu.
#include "fuzz/search/device_batch.hpp"

#include <stdexcept>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/device.hpp"

namespace assay::fuzz {

std::string no_device_batch(const Variant& v, Op op) {
  if (v.backend != Backend::cuda) return "not on a GPU";
  if (!v.run) return "launched elsewhere";
  if (op != Op::softmax) return "the fast judge serves softmax";
  if (v.out() != v.dtype) return "the fast judge takes logits and outputs of one dtype";
  if (const std::string why = fast_judge_unsupported(v.claim, v.dtype, v.out()); !why.empty()) return why;
  return unavailable_reason(Backend::cuda);
}

#if !defined(ASSAY_WITH_CUDA)
struct DeviceBatch::Memory {};
DeviceBatch::DeviceBatch(const Variant&, std::int64_t, std::int64_t) {
  throw std::runtime_error("this build has no CUDA side");
}
DeviceBatch::~DeviceBatch() = default;
std::vector<Evaluation> DeviceBatch::operator()(std::span<const Genome>, std::vector<bool>&) { return {}; }
Tensor tensor_by_device(const Genome&, Dtype) { throw std::runtime_error("this build has no CUDA side"); }
#endif

}  // namespace assay::fuzz
