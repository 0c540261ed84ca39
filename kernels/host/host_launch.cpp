// SPDX-License-Identifier: Apache-2.0
// Launches of a variant on the host executor, in this process.
#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/host/sanitizers.hpp"

namespace assay {

LaunchOutcome launch_on_host(const Variant& variant, const Problem& problem, Images& images,
                             const LaunchOptions& options) {
  const auto list = buffers_of(images);
  // Under AddressSanitizer, a kernel that touches a guard band stops with its own stack trace.
  for (Image* i : list)
    if (!i->empty()) {
      sanitizers::forbid(i->data(), i->offset());
      sanitizers::forbid(i->payload() + i->payload_bytes(), i->size() - i->offset() - i->payload_bytes());
    }
  std::array<void*, kBuffers> at{};
  for (std::size_t i = 0; i < at.size(); ++i)
    if (!list[i]->empty()) at[i] = list[i]->payload();
  LaunchOutcome outcome =
      call_on_host(variant, problem, buffers_at(at, options.in_place), options.schedule, options.max_blocks);
  outcome.dispatch = executor::dispatch();
  for (Image* i : list)
    if (!i->empty()) sanitizers::allow(i->data(), i->size());
  return outcome;
}

LaunchOutcome call_on_host(const Variant& variant, const Problem& problem, const Buffers& buffers,
                           std::uint64_t schedule, std::int64_t max_blocks) {
  executor::set_schedule({schedule});
  try {
    variant.run(problem, buffers, Stream{nullptr, max_blocks});
  } catch (const executor::Fault& fault) {
    return {std::string("executor: ") + fault.what(), Ended::fault, {}, 0, fault.kind};
  } catch (const std::exception& e) {
    return {std::string("the launcher threw: ") + e.what(), Ended::fault, {}, 0, FaultKind::threw};
  }
  return {};
}

}  // namespace assay
