// SPDX-License-Identifier: Apache-2.0
// A kernel that only takes time.
#pragma once

namespace assay::isolation {

/// Enqueues a wait of that many microseconds on the stream (a cudaStream_t).
void enqueue_delay(void* stream, double microseconds);

}  // namespace assay::isolation
