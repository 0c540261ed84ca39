// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer's entry points, implemented as counters. This file itself is not instrumented, and its
// binary is not linked with the sanitizer's runtime.
#include "kernels/counted/access_counter.hpp"

namespace assay::access_counter {
namespace {

thread_local std::span<Range> watched;

Range* range_of(const void* p) {
  for (Range& r : watched)
    if (static_cast<const char*>(p) >= static_cast<const char*>(r.begin) &&
        static_cast<const char*>(p) < static_cast<const char*>(r.begin) + r.bytes)
      return &r;
  return nullptr;
}
void load(const void* p, std::size_t bytes) {
  if (Range* r = range_of(p)) r->loaded += static_cast<std::int64_t>(bytes);
}
void store(const void* p, std::size_t bytes) {
  if (Range* r = range_of(p)) r->stored += static_cast<std::int64_t>(bytes);
}

}  // namespace

void watch(std::span<Range> ranges) { watched = ranges; }

}  // namespace assay::access_counter

using assay::access_counter::load;
using assay::access_counter::store;

extern "C" {
#define ASSAY_COUNT(N)                                     \
  void __tsan_read##N(void* p) { load(p, N); }             \
  void __tsan_write##N(void* p) { store(p, N); }           \
  void __tsan_unaligned_read##N(void* p) { load(p, N); }   \
  void __tsan_unaligned_write##N(void* p) { store(p, N); } \
  void __tsan_volatile_read##N(void* p) { load(p, N); }    \
  void __tsan_volatile_write##N(void* p) { store(p, N); }
ASSAY_COUNT(1)
ASSAY_COUNT(2)
ASSAY_COUNT(4)
ASSAY_COUNT(8)
ASSAY_COUNT(16)
#undef ASSAY_COUNT
void __tsan_read_range(void* p, unsigned long bytes) { load(p, bytes); }
void __tsan_write_range(void* p, unsigned long bytes) { store(p, bytes); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
// An atomic read-modify-write counts as one load and one store.
#define ASSAY_ATOMIC(BITS, T)                                                                      \
  T __tsan_atomic##BITS##_load(const volatile T* p, int) {                                         \
    load(const_cast<const T*>(p), sizeof(T));                                                      \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  void __tsan_atomic##BITS##_store(volatile T* p, T v, int) {                                      \
    store(const_cast<const T*>(p), sizeof(T));                                                     \
    __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_strong(volatile T* p, T* expected, T v, int, int) {   \
    load(const_cast<const T*>(p), sizeof(T));                                                      \
    store(const_cast<const T*>(p), sizeof(T));                                                     \
    return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                \
  int __tsan_atomic##BITS##_compare_exchange_weak(volatile T* p, T* expected, T v, int a, int b) { \
    return __tsan_atomic##BITS##_compare_exchange_strong(p, expected, v, a, b);                    \
  }                                                                                                \
  T __tsan_atomic##BITS##_fetch_add(volatile T* p, T v, int) {                                     \
    load(const_cast<const T*>(p), sizeof(T));                                                      \
    store(const_cast<const T*>(p), sizeof(T));                                                     \
    return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST);                                             \
  }
ASSAY_ATOMIC(32, unsigned)
ASSAY_ATOMIC(64, unsigned long)
#undef ASSAY_ATOMIC
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
}
