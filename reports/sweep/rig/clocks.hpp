// SPDX-License-Identifier: Apache-2.0
// The current clocks of a GPU, from NVIDIA's management library, which is loaded at run time if it is there.
#pragma once

#include <optional>
#include <string>

namespace assay {

struct Clocks {
  double sm_mhz = 0, mem_mhz = 0;
};

/// Clocks of the GPU with this PCI bus id ("00000000:9B:00.0"); empty if the library does not report them.
std::optional<Clocks> clocks_now(const std::string& pci_bus_id);

}  // namespace assay
