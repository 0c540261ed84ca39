// SPDX-License-Identifier: Apache-2.0
// Launches in parts: the buffers are filled on the device, and only the wanted parts and the guards are read.
#include "kernels/isolation/device_side.hpp"

#if defined(ASSAY_WITH_CUDA)

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/isolation/device_side_state.hpp"

namespace assay::isolation {

LaunchOutcome DeviceSide::State::repeat(std::byte* at, std::uint64_t known, std::uint64_t bytes) {
  for (; known < bytes; known *= 2)
    if (const cudaError_t e =
            cudaMemcpyAsync(at + known, at, std::min(known, bytes - known), cudaMemcpyDeviceToDevice, stream);
        e != cudaSuccess)
      return fault("filling device memory", e);
  return {};
}

LaunchOutcome DeviceSide::State::put_parts(const PartBuffer& b, Memory& m) {
  std::byte* const payload = m.data + kPartGuard;
  cudaError_t e = cudaMemsetAsync(m.data, 0xff, kPartGuard, stream);
  if (e == cudaSuccess) e = cudaMemsetAsync(payload + b.payload, 0xff, kPartGuard, stream);
  std::vector<std::byte> first(std::min(b.payload, std::uint64_t{1} << 20));
  for (std::size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<std::byte>(b.fill >> 8 * (i % b.element));
  if (e == cudaSuccess)
    e = cudaMemcpyAsync(payload, first.data(), first.size(), cudaMemcpyHostToDevice, stream);
  if (e != cudaSuccess) return fault("filling device memory", e);
  if (LaunchOutcome why = repeat(payload, first.size(), b.payload); !why.ok()) return why;
  for (const Part& p : b.given)
    if (e == cudaSuccess)
      e = cudaMemcpyAsync(payload + p.at, p.bytes.data(), p.bytes.size(), cudaMemcpyHostToDevice, stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
  return e == cudaSuccess ? LaunchOutcome() : fault("copying to the device", e);
}

LaunchOutcome DeviceSide::put_parts(Launch& request, const PartBuffers& buffers) {
  if (LaunchOutcome why = begin(); !why.ok()) return why;
  State& s = *state_;
  std::uint64_t needed = 0;
  for (const PartBuffer& b : buffers)
    if (b.payload > 0) needed += b.payload + 2 * kPartGuard;
  std::size_t have = 0, all = 0;
  if (const cudaError_t e = cudaMemGetInfo(&have, &all); e != cudaSuccess)
    return fault("asking for free memory", e);
  // The worker's context and its own allocations need memory, too.
  if (needed + needed / 16 > have)
    return lost_for_want(
        FaultKind::memory,
        fmt::format("memory: {:.1f} GiB are needed on the device, {:.1f} are free",
                    static_cast<double>(needed + needed / 16) / 0x1p30, static_cast<double>(have) / 0x1p30));
  for (int b = 0; b < kBuffers; ++b) {
    const PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    if (buffer.payload == 0) continue;
    Memory& m = s.memory[State::plain][0][b];
    if (LaunchOutcome why = s.at_least(m, buffer.payload + 2 * kPartGuard, false); !why.ok()) return why;
    if (LaunchOutcome why = s.put_parts(buffer, m); !why.ok()) return why;
    request.slices[0][b] = {m.size, kPartGuard, buffer.payload};
    DeviceBuffer& told = request.device[0][b];
    told.generation = m.generation;
    told.size = m.size;
    std::memcpy(told.handle.data(), &m.handle, sizeof m.handle);
  }
  return {};
}

LaunchOutcome DeviceSide::take_parts(const Launch& request, PartBuffers& buffers, std::string& guard) {
  if (!state_) return {};
  State& s = *state_;
  for (int b = 0; b < kBuffers; ++b) {
    if (request.device[0][b].generation == 0) continue;
    PartBuffer& buffer = buffers[static_cast<std::size_t>(b)];
    const std::byte* const payload = s.memory[State::plain][0][b].data + kPartGuard;
    const auto read = [&](std::byte* to, const std::byte* from, std::uint64_t bytes) {
      return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s.stream);
    };
    cudaError_t e = cudaSuccess;
    for (Part& p : buffer.wanted)
      if (e == cudaSuccess) e = read(p.bytes.data(), payload + p.at, p.bytes.size());
    std::vector<std::byte> bands(2 * kPartGuard);
    if (e == cudaSuccess) e = read(bands.data(), payload - kPartGuard, kPartGuard);
    if (e == cudaSuccess) e = read(bands.data() + kPartGuard, payload + buffer.payload, kPartGuard);
    if (e == cudaSuccess) e = cudaStreamSynchronize(s.stream);
    if (e != cudaSuccess) return fault("copying from the device", e);
    for (std::uint64_t i = 0; i < bands.size() && guard.empty(); ++i)
      if (bands[i] != std::byte{0xff})
        guard = fmt::format("bytes {} the {} were overwritten", i < kPartGuard ? "before" : "after",
                            kBufferNames[static_cast<std::size_t>(b)]);
  }
  return {};
}

}  // namespace assay::isolation

#endif
