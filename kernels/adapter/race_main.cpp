// SPDX-License-Identifier: Apache-2.0
// The main function of a race checker. It runs every variant of its plugin on a few small shapes, in several
// schedules. If ThreadSanitizer reports a race, the exit status is 66. It is 2 if a launch failed or none was
// made.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/plugin.h"

extern "C" const assay_plugin* assay_plugin_entry(void);
extern "C" const char* assay_plugin_fault(void);
extern "C" void assay_executor_control(std::uint64_t schedule, std::int64_t max_blocks);

namespace {

int bits_of(const char* dtype) {
  return std::strcmp(dtype, "f32") == 0 ? 32 : std::strcmp(dtype, "f64") == 0 ? 64 : 16;
}

/// A matrix with its tensor. The logits are small and differ: bytes from 0x38 up give numbers near 1 in every
/// format.
struct Matrix {
  std::vector<unsigned char> bytes;
  std::int64_t shape[2], strides[2];
  assay_tensor tensor{};
  Matrix(std::int64_t rows, std::int64_t columns, int bits, int code)
      : shape{rows, columns}, strides{columns, 1} {
    bytes.resize(static_cast<std::size_t>(rows * columns * bits / 8) + 256);
    const auto from = reinterpret_cast<std::uintptr_t>(bytes.data());
    tensor.data = bytes.data() + (256 - from % 256) % 256;
    tensor.device = {1, 0};
    tensor.ndim = 2;
    tensor.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    tensor.shape = shape;
    tensor.strides = strides;
  }
  void fill(int bits) {
    auto* const p = static_cast<unsigned char*>(tensor.data);
    const std::int64_t n = shape[0] * shape[1], size = bits / 8;
    for (std::int64_t i = 0; i < n; ++i)
      p[i * size + size - 1] = static_cast<unsigned char>(0x38 + i * 7 % 5);
  }
};

/// The type of an operand in plugin.h's words, such as "u8" in "mask_keep:u8". Empty if there is no such
/// operand.
std::string operand_type(const char* operands, const char* name) {
  const std::string all = operands ? std::string(" ") + operands + " " : "";
  const std::size_t at = all.find(std::string(" ") + name);
  if (at == all.npos) return {};
  const std::size_t from = at + 1 + std::strlen(name);
  return all.substr(from, all.find(' ', from) - from);
}
int bits_of_type(const std::string& type) {
  return type == "u8" ? 8 : type == "i64" ? 64 : type == "i32" ? 32 : bits_of(type.c_str());
}

/// What a variant reads besides the logits. The values are neutral: they change nothing.
struct Neutral {
  std::unique_ptr<Matrix> mask, bias, lengths, temperatures;

  Neutral(const assay_variant& v, std::int64_t rows, std::int64_t V, assay_call& call) {
    for (const bool keeps : {true, false})
      if (const std::string t = operand_type(v.operands, keeps ? "mask_keep:" : "mask_drop:"); !t.empty()) {
        mask = std::make_unique<Matrix>(rows, V, bits_of_type(t), 0);
        set(*mask, rows * V,
            keeps ? (t == "f16"    ? 0x3c00
                     : t == "bf16" ? 0x3f80
                     : t == "f32"  ? 0x3f800000
                                   : 1)
                  : 0);
        call.mask = &mask->tensor;
      }
    for (const bool row : {true, false})
      if (const std::string t = operand_type(v.operands, row ? "bias_row:" : "bias:"); !t.empty()) {
        bias = std::make_unique<Matrix>(row ? 1 : rows, V, bits_of_type(t), 2);
        set(*bias, (row ? 1 : rows) * V, 0);
        if (row) column(*bias, V);
        call.bias = &bias->tensor;
      }
    if (const std::string t = operand_type(v.operands, "lengths:"); !t.empty()) {
      lengths = std::make_unique<Matrix>(rows, 1, bits_of_type(t), 0);
      set(*lengths, rows, static_cast<std::uint64_t>(V));
      column(*lengths, rows);
      call.lengths = &lengths->tensor;
    }
    if (v.operands && std::strstr(v.operands, "temperatures")) {
      temperatures = std::make_unique<Matrix>(rows, 1, 32, 2);
      set(*temperatures, rows, 0x3f800000);
      column(*temperatures, rows);
      call.temperatures = &temperatures->tensor;
    }
  }
  static void column(Matrix& m, std::int64_t n) {
    m.tensor.ndim = 1;
    m.shape[0] = n;
    m.strides[0] = 1;
  }
  static void set(Matrix& m, std::int64_t n, std::uint64_t value) {
    const std::size_t size = m.tensor.dtype.bits / 8u;
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(static_cast<unsigned char*>(m.tensor.data) + static_cast<std::size_t>(i) * size, &value,
                  size);
  }
};

/// True if the rows of the variant form squares.
bool causal(const assay_variant& v) {
  return v.declaration &&
         (std::strstr(v.declaration, "causal=zeros") || std::strstr(v.declaration, "causal=lower"));
}

/// Makes one launch. Returns 0, or 2 if it failed.
int launch(const assay_variant& v, std::int64_t rows, std::int64_t V, std::uint64_t schedule) {
  const int in_bits = bits_of(v.in_dtype), out_bits = bits_of(v.out_dtype ? v.out_dtype : v.in_dtype);
  const bool selects = v.op == ASSAY_TOPK || v.op == ASSAY_SOFTMAX_TOPK || v.op == ASSAY_TOPK_SOFTMAX ||
                       v.op == ASSAY_LOG_SOFTMAX_TOPK;
  const std::int64_t k = V < 4 ? V : 4;
  Matrix logits(rows, V, in_bits, 2),
      values(rows,
             selects             ? k
             : v.op == ASSAY_LSE ? 1
                                 : V,
             out_bits, 2),
      indices(rows, k, 32, 0);
  Matrix m(rows, 1, 32, 2), d(rows, 1, 32, 2), gradients(rows, V, in_bits, 2);
  logits.fill(in_bits);
  gradients.fill(in_bits);
  assay_call call{};
  call.struct_size = sizeof call;
  call.op = v.op;
  call.logits = &logits.tensor;
  if (v.op != ASSAY_NORMALIZER) call.values = &values.tensor;
  if (selects) call.indices = &indices.tensor;
  if (v.op == ASSAY_NORMALIZER) {
    call.m = &m.tensor;
    call.d = &d.tensor;
  }
  if (v.op == ASSAY_SOFTMAX_BACKWARD) call.gradients = &gradients.tensor;
#define ASSAY_NUMBER(name, usual) call.name = usual;
  ASSAY_CALL_NUMBERS(ASSAY_NUMBER)
#undef ASSAY_NUMBER
  if (v.op == ASSAY_MIN_P || v.op == ASSAY_TOP_P) call.threshold = 0.5f;
  const Neutral operands(v, rows, V, call);
  call.k = static_cast<std::int32_t>(k);
  std::vector<unsigned char> workspace(v.workspace_bytes ? v.workspace_bytes(&call) + 256 : 256);
  call.workspace = workspace.data() + (256 - reinterpret_cast<std::uintptr_t>(workspace.data()) % 256) % 256;
  call.workspace_bytes = workspace.size() - 256;
  assay_executor_control(schedule, 0);
  if (const int status = v.run(&call)) {
    std::fprintf(stderr, "%s: rows %lld, V %lld: status %d: %s\n", v.name, static_cast<long long>(rows),
                 static_cast<long long>(V), status, assay_plugin_fault());
    return 2;
  }
  return 0;
}

}  // namespace

#undef main  // the kernel's file may have its own main, which is renamed
int main(int argc, char** argv) {
  const assay_plugin* const plugin = assay_plugin_entry();
  // The number of rows and the row lengths V for which the kernel is made.
  const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 3;
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {1, 32, 64, 100, 1024};
  int launches = 0, worst = 0;
  for (std::uint32_t i = 0; i < plugin->variant_count; ++i)
    for (const std::int64_t V : sizes)
      for (const std::uint64_t schedule : {0, 1}) {
        const int status = launch(plugin->variants[i], causal(plugin->variants[i]) ? V : rows, V, schedule);
        worst = status > worst ? status : worst;
        ++launches;
      }
  std::printf("%d launches\n", launches);
  return launches == 0 ? 2 : worst;
}
