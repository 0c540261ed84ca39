// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/rig/clocks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>

namespace assay {
namespace {

/// The part of NVML's C interface that is used. Types and values are those of its documentation.
class Nvml {
 public:
  Nvml() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const auto find = [&](auto& f, const char* symbol) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, symbol));
      return f != nullptr;
    };
    int (*init)() = nullptr;
    works_ = find(init, "nvmlInit_v2") && find(by_bus_, "nvmlDeviceGetHandleByPciBusId_v2") &&
             find(clock_, "nvmlDeviceGetClockInfo") && init() == 0;
  }

  std::optional<Clocks> now(const std::string& bus) {
    constexpr int kSm = 1, kMemory = 2;
    unsigned sm = 0, mem = 0;
    if (!works_) return std::nullopt;
    // Looking a device up takes longer than asking for its clocks.
    const auto [at, fresh] = devices_.try_emplace(bus, nullptr);
    if (fresh && by_bus_(bus.c_str(), &at->second) != 0) at->second = nullptr;
    void* const device = at->second;
    if (!device || clock_(device, kSm, &sm) != 0 || clock_(device, kMemory, &mem) != 0) return std::nullopt;
    return Clocks{static_cast<double>(sm), static_cast<double>(mem)};
  }

 private:
  bool works_ = false;
  std::map<std::string, void*> devices_;
  int (*by_bus_)(const char*, void**) = nullptr;
  int (*clock_)(void*, int, unsigned*) = nullptr;
};

}  // namespace

std::optional<Clocks> clocks_now(const std::string& pci_bus_id) {
  static Nvml nvml;
  return nvml.now(pci_bus_id);
}

namespace {

/// The request of which least is unexplained.
const TwoClocks& best_of(const std::vector<TwoClocks>& all) {
  return *std::ranges::min_element(all, {}, &TwoClocks::unexplained_us);
}

}  // namespace

std::string contradicted(const std::vector<TwoClocks>& ones, const std::vector<TwoClocks>& batches,
                         std::int64_t launches, double median_us) {
  if (ones.empty() || batches.empty()) return {};
  const double of_one = std::clamp(best_of(ones).unexplained_us(), 0.0, kMostOfOneUs);
  const TwoClocks& batch = best_of(batches);
  const auto n = static_cast<double>(launches);
  const double said = batch.said_us / n;
  if (const double open = batch.unexplained_us() - of_one;
      open > kMostUnexplained * batch.said_us + kMostUnexplainedUs)
    return fmt::format(
        "its process says that a launch takes {:.4g} us; by the clock of this process {} launches took "
        "{:.4g} us "
        "longer than that explains: {:.4g} us each",
        said, launches, open, said + open / n);
  const TwoClocks& quick = *std::ranges::min_element(batches, {}, &TwoClocks::said_us);
  if (quick.said_us / n > kMostSlower * median_us + kMostSlowerUs)
    return fmt::format(
        "its process says {:.4g} us for a launch of a sample, and {:.4g} us for one of {} launches",
        median_us, quick.said_us / n, launches);
  return {};
}

}  // namespace assay
