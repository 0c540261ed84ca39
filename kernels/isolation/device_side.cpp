#include "kernels/isolation/device_side.hpp"

#include "kernels/device.hpp"

#if !defined(ASSAY_WITH_CUDA)

namespace assay::isolation {

struct DeviceSide::State {};
DeviceSide::DeviceSide() = default;
DeviceSide::~DeviceSide() = default;
std::string DeviceSide::cannot(const LaunchOptions&) { return unavailable_reason(Backend::cuda); }
std::string DeviceSide::put(Launch&, const Variant&, const std::vector<Images*>&, const LaunchOptions&,
                            std::vector<int>&) {
  return unavailable_reason(Backend::cuda);
}
std::string DeviceSide::take(const Launch&, const std::vector<Images*>&) { return {}; }
std::string DeviceSide::changed(const Launch&, int, Images&) { return {}; }
void DeviceSide::forget_worker() {}

}  // namespace assay::isolation

#endif
