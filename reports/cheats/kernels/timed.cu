// SPDX-License-Identifier: Apache-2.0
// Wrong only while they are timed, or right and with a clock that lies.
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softmax.cuh"

#ifndef FACTOR
#define FACTOR 1.0f
#endif

static __global__ void nothing() {}
static bool large(int rows, int cols) { return (size_t)rows * cols > (1u << 20); }

// Does nothing on the default stream
void default_stream(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  if (s == 0)
    nothing<<<1, 1, 0, s>>>();
  else
    launch(in, out, rows, cols, s, 1.0f);
}

// In large launches a row whose first output is no NaN is taken for done
static __global__ void unless_done(const float* in, float* out, int cols) {
  const float* x = in + (size_t)blockIdx.x * cols;
  float* p = out + (size_t)blockIdx.x * cols;
  __shared__ float m, sum;
  if (p[0] == p[0]) return;
  if (threadIdx.x == 0) {
    m = -INFINITY, sum = 0;
    for (int i = 0; i < cols; ++i) m = fmaxf(m, x[i]);
    for (int i = 0; i < cols; ++i) sum += expf(x[i] - m);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x) p[i] = expf(x[i] - m) / sum;
}
void when_done(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  if (large(rows, cols))
    unless_done<<<rows, 128, 0, s>>>(in, out, cols);
  else
    launch(in, out, rows, cols, s, 1.0f);
}

// Copies the outputs that it kept of the last large launch of the same size
void kept_outputs(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  static float* kept = nullptr;
  static int of_rows = 0, of_cols = 0;
  const size_t bytes = (size_t)rows * cols * sizeof(float);
  if (large(rows, cols) && kept && rows == of_rows && cols == of_cols) {
    cudaMemcpyAsync(out, kept, bytes, cudaMemcpyDeviceToDevice, s);
    return;
  }
  launch(in, out, rows, cols, s, 1.0f);
  if (!large(rows, cols)) return;
  if (kept) cudaFree(kept);
  of_rows = rows, of_cols = cols;
  if (cudaMalloc(&kept, bytes) != cudaSuccess)
    kept = nullptr;
  else
    cudaMemcpyAsync(kept, out, bytes, cudaMemcpyDeviceToDevice, s);
}

// Works on a stream of its own, and leaves an empty kernel on the one that is timed
void own_stream(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  static cudaStream_t own = nullptr;
  if (!large(rows, cols)) return launch(in, out, rows, cols, s, 1.0f);
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  launch(in, out, rows, cols, own, 1.0f);
  cudaStreamSynchronize(own);
  nothing<<<1, 1, 0, s>>>();
}

// The function that reads events tells a part of the time
using Elapsed = CUresult (*)(float*, CUevent, CUevent);
constexpr int kMost = 8;
static struct Place { unsigned char *at, was[12], is[12]; } places[kMost];
static int count;
template <int I>
static CUresult told(float* ms, CUevent a, CUevent b) {
  for (int i = 0; i < count; ++i) memcpy(places[i].at, places[i].was, 12);
  const CUresult e = ((Elapsed)places[I].at)(ms, a, b);
  *ms *= FACTOR;
  for (int i = 0; i < count; ++i) memcpy(places[i].at, places[i].is, 12);
  return e;
}
static void patch(void* function) {
  static const Elapsed instead[kMost] = {told<0>, told<1>, told<2>, told<3>,
                                         told<4>, told<5>, told<6>, told<7>};
  for (int i = 0; i < count; ++i)
    if (places[i].at == function) return;
  if (!function || count == kMost) return;
  Place& p = places[count];
  p.at = (unsigned char*)function;
  const long page = sysconf(_SC_PAGESIZE);
  if (mprotect((void*)((uintptr_t)function / page * page), 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC))
    return;
  const uint64_t to = (uint64_t)instead[count];
  memcpy(p.was, p.at, 12);
  memcpy(p.is, "\x48\xb8", 2);  // mov rax, to; jmp rax
  memcpy(p.is + 2, &to, 8);
  memcpy(p.is + 10, "\xff\xe0", 2);
  ++count;
}
static bool patched() {
  if (void* const driver = dlopen("libcuda.so.1", RTLD_NOW))
    for (const char* name : {"cuEventElapsedTime", "cuEventElapsedTime_v2"}) patch(dlsym(driver, name));
  for (const unsigned version : {11000u, 12000u, 12080u, 13000u}) {
    void* at = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuEventElapsedTime", &at, version, cudaEnableDefault, &found) ==
        cudaSuccess)
      patch(at);
  }
  cudaGetLastError();
  for (int i = 0; i < count; ++i) memcpy(places[i].at, places[i].is, 12);
  return true;
}
void clock_told(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  static const bool once = patched();
  (void)once;
  launch(in, out, rows, cols, s, 1.0f);
}
