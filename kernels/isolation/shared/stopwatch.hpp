// SPDX-License-Identifier: Apache-2.0
// Times what is put on a stream. The sweep times its own kernels with it, and a worker the kernel that it
// holds, so that both are measured alike. Included only where the CUDA side is compiled.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/isolation/shared/stopwatch_kernels.hpp"

namespace assay::isolation {

/// Of the device that is current when it is first used.
class Stopwatch {
 public:
  /// Which call failed, and how; null if none did.
  struct Failed {
    const char* call = nullptr;
    cudaError_t error = cudaSuccess;
    explicit operator bool() const { return call != nullptr; }
  };

  static constexpr std::uint64_t kMostHold = 5'000'000;

  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (flag_) cudaFreeHost(flag_);
    if (begin_) cudaEventDestroy(begin_);
    if (end_) cudaEventDestroy(end_);
    cudaFree(other_);
  }

  /// Other memory that is moved before what is timed, so that the caches keep nothing of its buffers.
  struct Cold {
    std::size_t bytes = 0;
    /// False: it is read. Replacing clean cache lines costs the next launch nothing. True: half of it is
    /// copied to the other half. That leaves the caches as launches before it would, which had written
    /// outputs.
    bool copies = false;
  };

  /// `us`: the time of what `enqueue` puts on the stream. `most_hold`: how long the stream waits for
  /// `enqueue`, in ns. What takes longer to enqueue is timed with a part of that; so is a launcher that waits
  /// for the stream.
  template <class Enqueue>
  Failed time(cudaStream_t stream, Cold cold, double& us, Enqueue enqueue,
              std::uint64_t most_hold = kMostHold) {
    if (const Failed f = prepare(cold.bytes)) return f;
    auto* const other = static_cast<std::byte*>(other_);
    const std::size_t half = cold.bytes / 512 * 256;
    if (cold.copies)
      enqueue_copy(stream, other + half, other, half, false);
    else if (cold.bytes > 0)
      enqueue_read(stream, other_, cold.bytes, static_cast<unsigned*>(other_));
    // The launches queue up behind this kernel, so that the stream is timed and not the queueing.
    enqueue_hold(stream, flag_, ++ticket_, most_hold);
    if (const cudaError_t e = cudaEventRecord(begin_, stream); e != cudaSuccess)
      return {"recording an event", e};
    enqueue();
    const cudaError_t recorded = cudaEventRecord(end_, stream);
    *static_cast<volatile unsigned*>(flag_) = ticket_;
    if (recorded != cudaSuccess) return {"recording an event", recorded};
    if (const cudaError_t e = cudaEventSynchronize(end_); e != cudaSuccess) return {"kernel", e};
    if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return {"kernel", e};
    float ms = 0;
    if (const cudaError_t e = cudaEventElapsedTime(&ms, begin_, end_); e != cudaSuccess)
      return {"reading the events", e};
    us = static_cast<double>(ms) * 1000;
    return {};
  }

 private:
  Failed prepare(std::size_t cold_bytes) {
    if (!flag_) {
      void* flag = nullptr;
      if (const cudaError_t e = cudaHostAlloc(&flag, sizeof *flag_, cudaHostAllocMapped); e != cudaSuccess)
        return {"allocating", e};
      flag_ = static_cast<unsigned*>(flag);
      *flag_ = 0;
    }
    // While it waits for the end, this thread leaves the processor: its processor time is that of enqueueing.
    for (cudaEvent_t* const event : {&begin_, &end_})
      if (!*event)
        if (const cudaError_t e = cudaEventCreateWithFlags(event, cudaEventBlockingSync); e != cudaSuccess)
          return {"creating an event", e};
    if (cold_bytes <= size_) return {};
    cudaFree(other_);
    other_ = nullptr;
    size_ = 0;
    if (const cudaError_t e = cudaMalloc(&other_, cold_bytes); e != cudaSuccess) return {"allocating", e};
    size_ = cold_bytes;
    const cudaError_t e = cudaMemset(other_, 0, size_);
    return e == cudaSuccess ? Failed() : Failed{"filling", e};
  }

  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  unsigned* flag_ = nullptr;
  unsigned ticket_ = 0;
  void* other_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay::isolation
