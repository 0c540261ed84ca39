#include "kernels/isolation/worker_device.hpp"

#if !defined(ASSAY_WITH_CUDA)

namespace assay::isolation {

struct WorkerDevice::State {};
WorkerDevice::WorkerDevice() = default;
WorkerDevice::~WorkerDevice() = default;
void WorkerDevice::launch(const Launch&, const std::vector<int>&, int, Done& done, const Call&) {
  for (auto& fault : done.fault) fault.set("CUDA: this build has no CUDA side");
}
void WorkerDevice::settle(Settled&) {}

}  // namespace assay::isolation

#endif
