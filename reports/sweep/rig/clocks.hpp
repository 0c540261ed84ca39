// SPDX-License-Identifier: Apache-2.0
// The current clocks of a GPU, from NVIDIA's management library, which is loaded at run time if it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct Clocks {
  double sm_mhz = 0, mem_mhz = 0;
};

/// Clocks of the GPU with this PCI bus id ("00000000:9B:00.0"); empty if the library does not report them.
std::optional<Clocks> clocks_now(const std::string& pci_bus_id);

// The time that a kernel's process says, held to the clock of this process. The kernel can change the first:
// a library that it loads may overwrite the function that reads events.

/// One request for launches: what the worker says that they took, and what passed here from request to
/// answer. `processor_us`: of the worker's threads meanwhile. All in us.
struct TwoClocks {
  double said_us = 0, waited_us = 0, processor_us = 0;
  /// What neither the launches nor work on the processor explains.
  double unexplained_us() const { return waited_us - said_us - processor_us; }
};

/// What may stay unexplained of a batch, beyond what a single launch has too (messages, waking up): a quarter
/// of the time said, for clocks and for work on the processor that runs beside the launches and is counted
/// once too often; and 100 us, for a thread that waited for a processor.
inline constexpr double kMostUnexplained = 0.25, kMostUnexplainedUs = 100;
/// A kernel might be slow to answer for a single launch, to have more left unexplained of many.
inline constexpr double kMostOfOneUs = 2000;
/// Launches of a batch may take this much longer than those of the samples, and this many us.
inline constexpr double kMostSlower = 1.25, kMostSlowerUs = 1;

/// Empty, or why the median of the samples is not what the launches take: "its process says ...". `ones`:
/// requests for one launch, `batches`: for `launches` of them. The best of each counts, because a busy
/// machine makes any of them longer. Empty if one of the lists is.
std::string contradicted(const std::vector<TwoClocks>& ones, const std::vector<TwoClocks>& batches,
                         std::int64_t launches, double median_us);

}  // namespace assay
