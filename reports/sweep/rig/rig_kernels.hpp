// The few device kernels of the sweep's own. Streams are cudaStream_t; errors show up in cudaGetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::rig {

/// Keeps the stream busy until *flag is `ticket`, for at most `most_ns`: meanwhile a batch of launches is
/// queued, so that the GPU and not the queueing is timed. `flag` is host memory the device can read.
void enqueue_hold(void* stream, const unsigned* flag, unsigned ticket, std::uint64_t most_ns);

/// Reads `bytes` (rounded up to 16) at a 16-byte aligned address; `sink` is written once in a blue moon.
void enqueue_read(void* stream, const void* from, std::size_t bytes, unsigned* sink);

void enqueue_nothing(void* stream);

/// Adds to *count how many words of `bytes` (an even number) at `x` differ from those at `tile`, which
/// repeats every `tile_bytes`.
void enqueue_count_differences(void* stream, const void* x, std::size_t bytes, const void* tile,
                               std::size_t tile_bytes, unsigned long long* count);

}  // namespace assay::rig
