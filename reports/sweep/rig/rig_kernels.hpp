// SPDX-License-Identifier: Apache-2.0
// The sweep's own device kernels. Streams are cudaStream_t. Errors are reported by cudaGetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::rig {

using isolation::enqueue_copy, isolation::enqueue_hold, isolation::enqueue_read;

/// The streaming copy, which the device may start while the kernel before it ends; it waits for that end
/// before it touches memory. `chained`: it lets the kernel after it start at once. launches_overlap() says
/// whether the current device and the compiled code can do this.
void enqueue_overlapping_copy(void* stream, void* to, const void* from, std::size_t bytes, bool chained);
/// The read that does so, too. Its arguments are those of enqueue_read.
void enqueue_chained_read(void* stream, const void* from, std::size_t bytes, unsigned* sink);
bool launches_overlap();

void enqueue_nothing(void* stream);

/// Adds to *count the number of words at `x` that differ from those at `tile`, which repeats every
/// `tile_bytes` and of which the first `shift` bytes come last. `bytes`, `tile_bytes` and `shift` are even.
void enqueue_count_differences(void* stream, const void* x, std::size_t bytes, const void* tile,
                               std::size_t tile_bytes, std::size_t shift, unsigned long long* count);

/// Fills `sets` pieces of `bytes` bytes each, `stride` apart, with the tile, which repeats. In piece i the
/// tile begins at byte (first + i * step) % tile_bytes. All are multiples of `row`, the bytes of one row, but
/// `stride`, which is a multiple of 256.
void enqueue_turned(void* stream, void* to, std::size_t stride, std::int64_t sets, std::size_t bytes,
                    const void* tile, std::size_t tile_bytes, std::size_t row, std::size_t first,
                    std::size_t step);

}  // namespace assay::rig
