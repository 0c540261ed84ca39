// SPDX-License-Identifier: Apache-2.0
// One assay_call, with the tensors to which it points.
#pragma once

#include <array>

#include "kernels/isolation/shared/message.hpp"
#include "kernels/plugin.h"

namespace assay::isolation {

/// `at`: where the payloads lie, null for a buffer that the problem does not have. For an in-place output,
/// at[1] == at[0]. `normalizer`: m and d are asked for.
class PluginCall {
 public:
  PluginCall(const assay_variant& v, const Problem& p, const std::array<void*, kBuffers>& at, bool normalizer,
             int device) {
    const assay_device where = {v.device_type, v.device_type == 2 ? device : 0};
    const auto matrix = [&](int i, bool present, std::int64_t columns, std::int64_t pitch,
                            assay_data_type type) -> const assay_tensor* {
      Tensor& t = tensors_[i];
      t.shape[0] = p.rows;
      t.shape[1] = columns;
      t.strides[0] = pitch;
      t.strides[1] = 1;
      t.tensor = {at[static_cast<std::size_t>(i)], where, 2, type, t.shape, t.strides, 0};
      return present ? &t.tensor : nullptr;
    };
    const auto vector = [&](int i) {
      const assay_tensor* t = matrix(i, normalizer, 1, 1, {2, 32, 1});
      tensors_[i].tensor.ndim = 1;
      return t;
    };
    call.struct_size = sizeof call;
    call.op = static_cast<std::int32_t>(p.op);
    call.logits = matrix(0, true, p.V, p.in_pitch, type_of(p.in));
    call.values = matrix(1, p.op != Op::normalizer, p.out_columns(), p.out_pitch, type_of(p.out));
    call.indices =
        matrix(2, selects(p.op), p.k, p.out_pitch, {0, static_cast<std::uint8_t>(8 * p.index_bytes()), 1});
    call.m = vector(3);
    call.d = vector(4);
    call.workspace = at[5];
    call.scale = p.scale;
    call.temperature = p.temperature;
    call.k = selects(p.op) ? p.k : 0;
    call.threshold = p.threshold();
    const Operands& o = p.operands;
    call.mask = matrix(6, o.has(operand::any_mask), p.V, p.in_pitch, type_of(o.mask));
    call.bias = matrix(7, o.has(operand::any_bias), p.V, p.in_pitch, type_of(o.bias));
    if (o.has(operand::bias_row)) {
      tensors_[7].tensor.ndim = 1;
      tensors_[7].shape[0] = p.V;
      tensors_[7].strides[0] = 1;
    }
    const auto column = [&](int i, bool present, assay_data_type type) {
      const assay_tensor* t = matrix(i, present, 1, 1, type);
      tensors_[i].tensor.ndim = 1;
      return t;
    };
    call.lengths = column(8, o.has(operand::lengths), {0, static_cast<std::uint8_t>(8 * o.length_bytes), 1});
    call.temperatures = column(9, o.has(operand::temperatures), {2, 32, 1});
    call.gradients = matrix(10, at[10] != nullptr, p.V, p.in_pitch, type_of(p.in));
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  assay_call call{};

 private:
  static assay_data_type type_of(Dtype t) {
    return {static_cast<std::uint8_t>(t == Dtype::bf16 ? 4 : 2), static_cast<std::uint8_t>(8 * size_of(t)),
            1};
  }
  static assay_data_type type_of(MaskType t) {
    if (t == MaskType::u8) return {1, 8, 1};
    if (t == MaskType::i32) return {0, 32, 1};
    return type_of(t == MaskType::f16 ? Dtype::f16 : t == MaskType::bf16 ? Dtype::bf16 : Dtype::f32);
  }
  struct Tensor {
    std::int64_t shape[2];
    std::int64_t strides[2];
    assay_tensor tensor;
  };
  Tensor tensors_[kBuffers] = {};
};

}  // namespace assay::isolation
