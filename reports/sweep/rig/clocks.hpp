// The clock a GPU runs at this moment, from NVIDIA's management library; loaded at run time, absent
// elsewhere.
#pragma once

#include <optional>
#include <string>

namespace assay {

struct Clocks {
  double sm_mhz = 0, mem_mhz = 0;
};

/// Of the GPU with this PCI bus id ("00000000:9B:00.0"); nothing where the library does not say.
std::optional<Clocks> clocks_now(const std::string& pci_bus_id);

}  // namespace assay
