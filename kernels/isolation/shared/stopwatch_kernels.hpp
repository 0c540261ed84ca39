// SPDX-License-Identifier: Apache-2.0
// What is put on a stream before launches that are timed. Streams are cudaStream_t. Errors are reported by
// cudaGetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::isolation {

// A kernel that only takes time.

/// Enqueues a wait of that many microseconds on the stream (a cudaStream_t).
void enqueue_delay(void* stream, double microseconds);

/// Keeps the stream busy until *flag equals `ticket`, for at most `most_ns`. Meanwhile the host queues a
/// batch of launches, so that the GPU is timed and not the queueing. `flag` is host memory that the device
/// can read.
void enqueue_hold(void* stream, const unsigned* flag, unsigned ticket, std::uint64_t most_ns);

/// Reads `bytes` (rounded up to 16) from a 16-byte aligned address. `sink` is almost never written.
void enqueue_read(void* stream, const void* from, std::size_t bytes, unsigned* sink);

/// Copies `bytes` (rounded up to 16) between 16-byte aligned addresses. `streaming`: one access a thread, not
/// kept in the caches; otherwise four accesses a thread.
void enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes, bool streaming);

}  // namespace assay::isolation
