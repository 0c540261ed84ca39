// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/plugin_library.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/shared/plain_text.hpp"
#include "kernels/plugin.h"
#include "reference/operand_table.hpp"
#include "reference/text.hpp"

namespace assay::isolation {
namespace {

// One assay_call, with the tensors to which it points.

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
#define ASSAY_NUMBER(name, usual) call.name = p.name;
    ASSAY_CALL_NUMBERS(ASSAY_NUMBER)
#undef ASSAY_NUMBER
    call.k = selects(p.op) ? p.k : 0;
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

/// Reads a struct of another version: the fields that it has, and zeros for the rest.
template <class T>
T read_struct(const void* p, std::size_t size) {
  T t{};
  std::memcpy(static_cast<void*>(&t), p, std::min(size, sizeof t));
  return t;
}

/// A plugin may give a text without an end.
std::string named(const char* text) { return in_quotes({text, strnlen(text, 64)}); }

std::string known_dtypes() {
  std::string all;
  for (const Dtype t : kDtypes) all += (all.empty() ? "" : ", ") + std::string(name(t));
  return all;
}

/// How the words begin in which the adapter (kernels/adapter/variant.h) says what is wrong with a line.
constexpr char kVariantError[] = "ASSAY_VARIANT: ";

/// Says what is wrong with one entry, or is empty.
std::string fault_of(const assay_variant& v) {
  if (!v.name || !*v.name) return "has no name";
  const std::size_t length = strnlen(v.name, 65);
  if (length > 64) return "has a name of more than 64 characters";
  for (std::size_t i = 0; i < length; ++i)
    if (!std::isalnum(static_cast<unsigned char>(v.name[i])) && v.name[i] != '_' && v.name[i] != '-')
      return "is called " + named(v.name) + ": names are letters, digits, '_' and '-'";
  const std::string who = "(" + named(v.name) + ") ";
  if (v.op < 0 || v.op >= std::ssize(kOpTable))
    return who + "has op " + std::to_string(v.op) + ", which plugin.h does not list";
  if (!v.in_dtype) return who + "has no in_dtype";
  for (const char* dtype : {v.in_dtype, v.out_dtype ? v.out_dtype : v.in_dtype})
    if (!parse_dtype(std::string_view(dtype, strnlen(dtype, 8))))
      return who + "has dtype " + named(dtype) + ": known are " + known_dtypes();
  if (v.device_type != 1 && v.device_type != 2)
    return who + "has device_type " + std::to_string(v.device_type) + ": known are 1 (host) and 2 (CUDA)";
  if (!v.run)
    return who + (v.declaration && std::strncmp(v.declaration, kVariantError, sizeof kVariantError - 1) == 0
                      ? std::string(v.declaration, strnlen(v.declaration, 300))
                      : "has no run function");
  if (v.declaration &&
      strnlen(v.declaration, sizeof(Described::declaration)) >= sizeof(Described::declaration))
    return who + "has a declaration of more than 8191 characters";
  if (v.operands && (strnlen(v.operands, sizeof(Described::operands)) >= sizeof(Described::operands) ||
                     !parse_operands(v.operands)))
    return who + "has operands " + named(v.operands) + ", which plugin.h does not list, or not together";
  const Op op = static_cast<Op>(v.op);
  if (v.operands) {
    Operands not_judged = *parse_operands(v.operands), judged;
    not_judged.parts &= ~judged_operands(op);
    judged.parts = judged_operands(op);
    if (!not_judged.none())
      return who + "has operand " + text_of(not_judged) + ", which is not judged for op " + name(op) + ": " +
             (judged.none() ? "none is" : "only " + text_of(judged) + " are") +
             "; a launcher without that parameter can be checked";
  }
  return {};
}

}  // namespace

std::string PluginLibrary::open(const std::string& path) {
  // Never closed, because its threads may outlive any launch.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = dlerror();
    std::string text = why ? why : "dlopen failed";
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    if (text.find("undefined symbol: __asan_") != std::string::npos)
      text += " (link it with the runtime of AddressSanitizer, too; for clang: -shared-libasan)";
    return "can not be loaded: " + text;
  }
  void* const symbol = dlsym(library, ASSAY_PLUGIN_SYMBOL);
  if (!symbol) return "has no symbol " ASSAY_PLUGIN_SYMBOL " (see kernels/plugin.h)";
  if (std::string fault = read(reinterpret_cast<assay_plugin_entry_function>(symbol)()); !fault.empty())
    return fault;
  control_ = reinterpret_cast<decltype(control_)>(dlsym(library, "assay_executor_control"));
  choose_ = reinterpret_cast<decltype(choose_)>(dlsym(library, "assay_executor_rows"));
  turns_ = reinterpret_cast<decltype(turns_)>(dlsym(library, "assay_executor_turns"));
  fault_ = reinterpret_cast<decltype(fault_)>(dlsym(library, "assay_plugin_fault"));
  fault_kind_ = reinterpret_cast<decltype(fault_kind_)>(dlsym(library, "assay_plugin_fault_kind"));
  return {};
}

std::string PluginLibrary::read(const assay_plugin* entry) {
  if (!entry) return ASSAY_PLUGIN_SYMBOL "() returned NULL";

  constexpr std::uint32_t kPlugin = offsetof(assay_plugin, variants) + sizeof(void*);
  constexpr std::uint32_t kVariant = offsetof(assay_variant, run) + sizeof(void (*)());
  std::uint32_t size;
  std::memcpy(&size, entry, sizeof size);
  if (size < kPlugin)
    return "assay_plugin.struct_size is " + std::to_string(size) + ", version 1 has " +
           std::to_string(kPlugin);
  const auto plugin = read_struct<assay_plugin>(entry, size);
  if (plugin.abi_version == 0 || plugin.abi_version > ASSAY_ABI_VERSION)
    return "speaks version " + std::to_string(plugin.abi_version) + " of the ABI, this assay speaks " +
           std::to_string(ASSAY_ABI_VERSION);
  if (plugin.variant_count == 0 || !plugin.variants) return "has no variants";
  if (plugin.variant_count > 4096)
    return "has " + std::to_string(plugin.variant_count) + " variants, 4096 at most";
  if (plugin.variant_struct_size < kVariant)
    return "assay_plugin.variant_struct_size is " + std::to_string(plugin.variant_struct_size) +
           ", version 1 has " + std::to_string(kVariant) + " at least";

  const char* at = reinterpret_cast<const char*>(plugin.variants);
  for (std::uint32_t i = 0; i < plugin.variant_count; ++i, at += plugin.variant_struct_size) {
    const std::string which = "variant " + std::to_string(i) + " ";
    std::memcpy(&size, at, sizeof size);
    if (size < kVariant || size > plugin.variant_struct_size)
      return which + "has struct_size " + std::to_string(size) + ", not " + std::to_string(kVariant) +
             " to " + std::to_string(plugin.variant_struct_size);
    variants_.push_back(read_struct<assay_variant>(at, size));
    if (const std::string fault = fault_of(variants_.back()); !fault.empty()) return which + fault;
  }
  return {};
}

Described PluginLibrary::describe(std::size_t entry) const {
  const assay_variant& v = variants_[entry];
  Described d;
  d.op = v.op;
  d.device_type = v.device_type;
  d.needs_workspace = v.workspace_bytes != nullptr;
  d.takes_schedule = control_ != nullptr && v.device_type == 1;
  d.name.set(v.name);
  d.in.set(v.in_dtype);
  d.out.set(v.out_dtype ? v.out_dtype : v.in_dtype);
  if (v.declaration) d.declaration.set(v.declaration);
  if (v.operands) d.operands.set(v.operands);
  return d;
}

namespace {

/// The words of a library on one line. Words that nobody can see must not look like none.
std::string shown(const char* text) {
  if (!text || !*text) return {};
  std::string words = plain_text(text);
  std::ranges::replace(words, '\n', ' ');
  return words.find_first_not_of(' ') == words.npos ? "nothing that can be shown" : words;
}

}  // namespace

Said PluginLibrary::said_of(std::int32_t status) const {
  const std::string why = shown(fault_ ? fault_() : nullptr);
  const char* const word = fault_kind_ ? fault_kind_() : nullptr;
  // If the library gives no kind, it returned an error of its own.
  const auto kind = word ? parse_fault_kind(word) : FaultKind::returned_status;
  // Only the adapter gives kinds: its words say it all.
  if (word && !why.empty()) return {why, kind.value_or(FaultKind::other)};
  std::string said = "returned status " + std::to_string(status) + (why.empty() ? "" : ": ") + why;
  return {std::move(said), kind.value_or(FaultKind::other)};
}

Said PluginLibrary::run(const Launch& request, int slot, const std::array<void*, kBuffers>& at, void* stream,
                        int device) const {
  const assay_variant& v = variants_[request.entry];
  PluginCall call(v, request.problem, at, request.normalizer != 0, device);
  call.call.workspace_bytes = request.slices[slot][5].payload;
  call.call.stream = stream;
  try {
    if (control_) control_(request.schedule, request.max_blocks);
    if (choose_) choose_(request.chosen.rows, request.chosen.count, request.chosen.per_block);
    if (const std::int32_t status = v.run(&call.call); status != 0) return said_of(status);
  } catch (const std::exception& e) {
    return {std::string("threw an exception: ") + e.what(), FaultKind::threw};
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    return {"threw something that is not a std::exception", FaultKind::threw};
  }
  return {};
}

std::uint64_t PluginLibrary::workspace_bytes(std::size_t entry, const Problem& problem, int device) const {
  const assay_variant& v = variants_[entry];
  if (!v.workspace_bytes) return 0;
  PluginCall call(v, problem, {}, false, device);
  return v.workspace_bytes(&call.call);
}

}  // namespace assay::isolation
