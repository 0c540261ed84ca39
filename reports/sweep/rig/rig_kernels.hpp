// SPDX-License-Identifier: Apache-2.0
// The sweep's own device kernels. Streams are cudaStream_t. Errors are reported by cudaGetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::rig {

using isolation::enqueue_hold, isolation::enqueue_read;

/// Copies `bytes` (rounded up to 16) between 16-byte aligned addresses. `streaming`: one access a thread, not
/// kept in the caches; otherwise four accesses a thread.
void enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes, bool streaming);

/// The streaming copy, which the device may start while the kernel before it ends; it waits for that end
/// before it touches memory. launches_overlap() says whether the current device and the compiled code can do
/// this.
void enqueue_overlapping_copy(void* stream, void* to, const void* from, std::size_t bytes);
bool launches_overlap();

void enqueue_nothing(void* stream);

/// Adds to *count the number of 16-bit words at `x` that differ from those at `tile`, which repeats every
/// `tile_bytes`. `bytes` is even.
void enqueue_count_differences(void* stream, const void* x, std::size_t bytes, const void* tile,
                               std::size_t tile_bytes, unsigned long long* count);

}  // namespace assay::rig
