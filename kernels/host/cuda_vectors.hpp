// SPDX-License-Identifier: Apache-2.0
// CUDA's loads and stores with a cache hint, and its vector types, for kernels from elsewhere. This project's
// own kernels do not need them.
#pragma once

#include <math.h>

#include <type_traits>

#include "kernels/host/half2.hpp"

namespace assay::ASSAY_BACKEND {

// ---- memory ----

#define ASSAY_LOAD(name) \
  template <class T>     \
  T name(const T* p) {   \
    return *p;           \
  }
ASSAY_LOAD(__ldca)
ASSAY_LOAD(__ldcg)
ASSAY_LOAD(__ldlu)
ASSAY_LOAD(__ldcv)
#undef ASSAY_LOAD
#define ASSAY_STORE(name)                      \
  template <class T>                           \
  void name(T* p, std::type_identity_t<T> v) { \
    *p = v;                                    \
  }
ASSAY_STORE(__stcg)
ASSAY_STORE(__stwb)
ASSAY_STORE(__stwt)
#undef ASSAY_STORE
inline void __threadfence_system() { __threadfence(); }
inline void __nanosleep(unsigned) {}
[[noreturn]] inline void __trap() { throw executor::Fault::trap(); }

template <class T>
T atomicSub(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return static_cast<T>(o - v); });
}
template <class T>
T atomicXor(T* p, std::type_identity_t<T> v) {
  return words_detail::atomic_update(p, [v](T o) { return static_cast<T>(o ^ v); });
}
inline unsigned atomicInc(unsigned* p, unsigned most) {
  return words_detail::atomic_update(p, [most](unsigned o) { return o >= most ? 0u : o + 1; });
}
inline unsigned atomicDec(unsigned* p, unsigned most) {
  return words_detail::atomic_update(p, [most](unsigned o) { return o == 0 || o > most ? most : o - 1; });
}

// ---- vector types ----

namespace words_detail {
template <class T>
struct Vector<T, 1> {
  T x;
};
template <class T>
struct Three {
  T x, y, z;
};
}  // namespace words_detail
/// The type of threadIdx, too: uint3 t = threadIdx.
struct uint3 {
  unsigned x, y, z;
  uint3() = default;
  constexpr uint3(unsigned x_, unsigned y_, unsigned z_) : x(x_), y(y_), z(z_) {}
  constexpr uint3(const dim3& d) : x(d.x), y(d.y), z(d.z) {}
  constexpr operator dim3() const { return {x, y, z}; }
};
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
using uint1 = words_detail::Vector<unsigned, 1>;
inline uint1 make_uint1(unsigned x) { return {x}; }
#define ASSAY_VECTORS(T, name)                       \
  using name##1 = words_detail::Vector<T, 1>;        \
  using name##3 = words_detail::Three<T>;            \
  inline name##1 make_##name##1(T x) { return {x}; } \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define ASSAY_EVEN_VECTORS(T, name)                          \
  using name##2 = words_detail::Vector<T, 2>;                \
  using name##4 = words_detail::Vector<T, 4>;                \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
ASSAY_VECTORS(float, float)
ASSAY_VECTORS(int, int)
ASSAY_VECTORS(double, double)
ASSAY_VECTORS(long long, longlong)
ASSAY_EVEN_VECTORS(double, double)
ASSAY_EVEN_VECTORS(long long, longlong)
ASSAY_EVEN_VECTORS(unsigned long long, ulonglong)
ASSAY_EVEN_VECTORS(short, short)
ASSAY_EVEN_VECTORS(unsigned short, ushort)
ASSAY_EVEN_VECTORS(signed char, char)
ASSAY_EVEN_VECTORS(unsigned char, uchar)
#undef ASSAY_VECTORS
#undef ASSAY_EVEN_VECTORS

}  // namespace assay::ASSAY_BACKEND
