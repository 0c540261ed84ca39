// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "accuracy/device_array.hpp"
#include "accuracy/functions/quotient_sweep.hpp"
#include "kernels/building_blocks/row_divisor.cuh"
#include "kernels/device.hpp"

namespace assay {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kDivisorsOfALaunch = 1 << 17;

struct Found {
  unsigned long long wrong;
  unsigned long long pair;  // divisor and numerator of one of them, in one word
};

/// A quotient c of mantissas is correctly rounded if the exact remainder a - c d is at most half an ulp of c,
/// times d (a division has no ties). If c is within one ulp, the fma gives the exact remainder. If c is
/// further off, the remainder exceeds the limit by more than its rounding.
__global__ void __launch_bounds__(kThreads)
    try_divisors(std::int64_t first, std::int64_t stride, std::int64_t count, int ulp_off, Found* found) {
  unsigned wrong = 0;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const auto mantissa = static_cast<unsigned>((first + i) * stride);
    cuda::RowDivisor by = cuda::row_divisor(__uint_as_float(0x3f800000u | mantissa));
    by.reciprocal = __uint_as_float(__float_as_uint(by.reciprocal) + static_cast<unsigned>(ulp_off));
    for (unsigned n = threadIdx.x; n < kMantissas; n += kThreads) {
      const float a = __uint_as_float(0x3f800000u | n);
      const float c = cuda::ordinary_quotient(a, by);
      const float half_ulp = c < 1.0f ? 0x1p-25f : 0x1p-24f;
      if (!(fabsf(fmaf(-c, by.d, a)) <= by.d * half_ulp)) {
        ++wrong;
        atomicMax(&found->pair, static_cast<unsigned long long>(mantissa) << 32 | n);
      }
    }
  }
  if (wrong) atomicAdd(&found->wrong, static_cast<unsigned long long>(wrong));
}

}  // namespace

QuotientSweep sweep_quotients_on_device(std::int64_t stride, int ulp_off) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  int multiprocessors = 0;
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, selected_device()),
             "asking");
  const DeviceArray memory(sizeof(Found));
  check_cuda(cudaMemset(memory.data(), 0, sizeof(Found)), "clearing");
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin), "making an event");
  check_cuda(cudaEventCreate(&end), "making an event");
  QuotientSweep s;
  s.divisors = (kMantissas + stride - 1) / stride;
  check_cuda(cudaEventRecord(begin), "timing");
  for (std::int64_t first = 0; first < s.divisors; first += kDivisorsOfALaunch)
    try_divisors<<<static_cast<unsigned>(multiprocessors * 8), kThreads>>>(
        first, stride, std::min(kDivisorsOfALaunch, s.divisors - first), ulp_off,
        static_cast<Found*>(memory.data()));
  check_cuda(cudaEventRecord(end), "timing");
  check_cuda(cudaDeviceSynchronize(), "the sweep of quotients");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "timing");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  Found found;
  check_cuda(cudaMemcpy(&found, memory.data(), sizeof found, cudaMemcpyDeviceToHost), "copying");
  s.wrong = static_cast<std::int64_t>(found.wrong);
  s.divisor = static_cast<std::uint32_t>(found.pair >> 32);
  s.numerator = static_cast<std::uint32_t>(found.pair);
  s.seconds = milliseconds / 1000;
  return s;
}

}  // namespace assay
