// SPDX-License-Identifier: Apache-2.0
// One buffer of a launch, and its copies: a DLPack capsule of it, and a result that is copied to it.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/plugin.h"
#include "kernels/python/worker/api.hpp"

namespace assay::python {

inline constexpr int kHost = 1, kCuda = 2;  // DLPack's devices

/// Of one or two dimensions; strides count elements.
struct View {
  char* data = nullptr;
  int device_type = kHost, device_id = 0, ndim = 2;
  assay_data_type type{};
  std::int64_t shape[2] = {0, 1}, strides[2] = {1, 1};

  View() = default;
  /// `flat`: rows x 1 becomes a vector. `bools`: its bytes are truth values.
  explicit View(const assay_tensor& tensor, bool flat = false, bool bools = false);

  bool empty() const { return !data || shape[0] == 0 || (ndim > 1 && shape[1] == 0); }
  bool integers() const { return type.code <= 1; }
  std::int64_t size() const { return type.bits / 8; }
  std::int64_t columns() const { return ndim > 1 ? shape[1] : 1; }
  std::int64_t column_stride() const { return ndim > 1 ? strides[1] : 1; }
  /// Bytes from its first element to the end of its last.
  std::int64_t extent() const;
  /// "f32", "bool".
  std::string dtype() const;
  /// "float32", as NumPy and torch call it.
  std::string long_dtype() const;
  /// "float32 of shape [3, 33]".
  std::string words() const;
};

/// A new DLManagedTensor of the view, in a capsule called "dltensor". The memory stays the supervisor's.
Ref capsule_of(const View& view);

/// Memory that a result lies in, as the result itself describes it to native code.
struct Source {
  const char* data = nullptr;
  int device_type = kHost, device_id = 0, ndim = 0;
  assay_data_type type{};
  std::int64_t shape[2] = {0, 1}, stride_bytes[2] = {0, 0};

  std::int64_t size() const { return type.bits / 8; }
};
/// Of the DLManagedTensor in a capsule called "dltensor". Throws a Failure if it is none.
Source source_of(Object* capsule);

/// True if the source has the shape of the view; rows x 1 also fits a vector.
bool same_shape(const View& to, const Source& from);
/// Copies the elements. Integers of any type become the output's, the nearest that it has; other types must
/// be equal. On a device the work is put on the stream; `wait`: until it is done. Returns empty, or why it
/// can not be copied.
std::string copy(const View& to, const Source& from, void* stream, bool wait);

/// Waits for all work that the stream has now.
void wait_for(void* stream);

}  // namespace assay::python
