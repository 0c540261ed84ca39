// SPDX-License-Identifier: Apache-2.0
// One call of the C ABI as a launcher sees it: its numbers, its pointers, its part of the workspace, its
// rows.
#ifndef ASSAY_ARGUMENTS_H
#define ASSAY_ARGUMENTS_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#if __has_include("plugin.h")
#include "parts.h"
#include "plugin.h"
#else
#include "kernels/adapter/parts.h"
#include "kernels/plugin.h"
#endif

namespace assay_adapter {

/// A call that the launcher's signature cannot express.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a launcher takes, and what the adapter must do around it.
struct Needs {
  bool stream = true;         // false: it works on the default stream
  bool takes_stream = false;  // one of its parameters is the stream
  bool pitches = false;       // it takes one pitch for the logits and one for the results
  bool one_pitch = false;     // it takes one pitch for both
  bool scale = false;
  bool m = false, d = false;  // it writes them even if nobody asked for them
  bool inout = false;         // the results overwrite the logits
  bool one_row = false;       // it takes one row, and is called for each
  int out_bytes = 0;          // bytes of one result; 0: it has no results
  int index_bytes = 0;        // bytes of one of its own indices
  int fixed_k = 0;
  uint64_t (*workspace)(int64_t rows, int64_t V, int64_t k) = nullptr;
};

/// One call, as a launcher sees it.
struct Arguments {
  int64_t rows = 0, V = 0, k = 0, in_pitch = 0, out_pitch = 0;
  const void *in = nullptr, *gradients = nullptr;
  void *out = nullptr, *indices = nullptr, *m = nullptr, *d = nullptr, *workspace = nullptr;
  uint64_t workspace_bytes = 0;
  void* stream = nullptr;
  const assay_call* call = nullptr;
  const void *mask = nullptr, *bias = nullptr, *lengths = nullptr, *temperatures = nullptr;
};

[[noreturn]] inline void refuse_number(int64_t n, const char* what) {
  throw Refused(std::string(what) + " = " + std::to_string(n) + " does not fit the entry's type");
}
/// Converts a number to the launcher's type. Throws Refused if it does not fit.
template <class T>
T number(int64_t n, const char* what) {
  const T t = static_cast<T>(n);
  if (static_cast<int64_t>(t) != n || (t < T(0)) != (n < 0)) refuse_number(n, what);
  return t;
}

/// A size to divide by: 1 in place of 0, because without columns there is nothing to divide.
inline int64_t divisor(int64_t n) { return n == 0 ? 1 : n; }

/// What a parameter is for. kParts has the names.
#define ASSAY_PART(part) part,
enum class Part { ASSAY_PARTS(ASSAY_PART) };
#undef ASSAY_PART
#define ASSAY_PART(part) #part,
constexpr const char* kParts[] = {ASSAY_PARTS(ASSAY_PART)};
#undef ASSAY_PART

/// The numbers of a call that a launcher takes by value.
struct CallNumber {
  Part part;
  float assay_call::*value;
};
#define ASSAY_NUMBER(name, usual) {Part::name, &assay_call::name},
constexpr CallNumber kNumbers[] = {ASSAY_CALL_NUMBERS(ASSAY_NUMBER)};
#undef ASSAY_NUMBER

/// The value of one parameter of type A.
template <class A>
A value_of(Part part, const Arguments& a) {
  if constexpr (std::is_pointer_v<A>) {
    const void* p = part == Part::in                                     ? a.in
                    : part == Part::indices                              ? a.indices
                    : part == Part::stream                               ? a.stream
                    : part == Part::workspace                            ? a.workspace
                    : part == Part::m                                    ? a.m
                    : part == Part::d                                    ? a.d
                    : part == Part::gradients                            ? a.gradients
                    : part == Part::mask_keep || part == Part::mask_drop ? a.mask
                    : part == Part::bias || part == Part::bias_row       ? a.bias
                    : part == Part::lengths                              ? a.lengths
                    : part == Part::temperature                          ? a.temperatures
                                                                         : a.out;
    return reinterpret_cast<A>(const_cast<void*>(p));
  } else if constexpr (std::is_integral_v<A>) {
    const int64_t n = part == Part::rows              ? a.rows
                      : part == Part::V               ? a.V
                      : part == Part::k               ? a.k
                      : part == Part::in_pitch        ? a.in_pitch
                      : part == Part::out_pitch       ? a.out_pitch
                      : part == Part::workspace_bytes ? static_cast<int64_t>(a.workspace_bytes)
                                                      : a.in_pitch;
    return number<A>(n, kParts[static_cast<int>(part)]);
  } else {
    for (const CallNumber& n : kNumbers)
      if (n.part == part) return static_cast<A>(a.call->*n.value);
    return A(0);
  }
}
/// The same with the part's number.
template <class A, int part>
A value(const Arguments& a) {
  return value_of<A>(static_cast<Part>(part), a);
}

inline uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where the adapter's own parts of the workspace begin. The launcher's part comes first.
struct WorkspaceLayout {
  uint64_t own = 0, m = 0, d = 0, out = 0, indices = 0, end = 0;
  WorkspaceLayout(const assay_call& c, const Needs& n) {
    const int64_t rows = c.logits->shape[0], V = c.logits->shape[1];
    const auto r = static_cast<uint64_t>(rows);
    own = n.workspace ? n.workspace(rows, V, c.k) : 0;
    m = rounded(own);
    d = m + (n.m && !c.m ? rounded(4 * r) : 0);
    out = d + (n.d && !c.d ? rounded(4 * r) : 0);
    // Room for results that nobody asked for, when only (m, d) are judged.
    indices =
        out + (!c.values ? rounded(static_cast<uint64_t>(n.out_bytes) * r * static_cast<uint64_t>(V)) : 0);
    const bool wider = c.indices && n.index_bytes * 8 != c.indices->dtype.bits && n.index_bytes != 0;
    end = indices + (wider ? rounded(8 * r * static_cast<uint64_t>(c.k)) : 0);
    if (end == m) end = own;
  }
};

inline uint64_t workspace_of(const assay_call& c, const Needs& n) { return WorkspaceLayout(c, n).end; }

inline int64_t pitch_of(const assay_tensor* t) { return t ? t->strides[0] : 0; }

/// The arguments of a call. Throws Refused if the launcher's signature cannot express it.
inline Arguments arguments_of(const assay_call& c, const Needs& n) {
  Arguments a;
  a.rows = c.logits->shape[0];
  a.V = c.logits->shape[1];
  a.k = c.k;
  a.in_pitch = pitch_of(c.logits);
  a.out_pitch = pitch_of(c.values);
  a.in = c.logits->data;
  a.gradients = c.gradients ? c.gradients->data : nullptr;
  a.out = c.values ? c.values->data : nullptr;
  a.stream = c.stream;
  a.call = &c;
  const auto data_of = [](const assay_tensor* t) -> const void* { return t ? t->data : nullptr; };
  a.mask = data_of(c.mask);
  a.bias = data_of(c.bias);
  a.lengths = data_of(c.lengths);
  a.temperatures = data_of(c.temperatures);
  if (c.scale != 1 && !n.scale) throw Refused("scale is not 1, and the entry takes no scale");
  if (n.fixed_k && c.k != n.fixed_k)
    throw Refused("k = " + std::to_string(c.k) + ", and the entry's is " + std::to_string(n.fixed_k));
  if (!n.pitches && !n.one_row && a.rows > 1) {
    const bool dense_out = !c.values || a.out_pitch == c.values->shape[1];
    if (n.one_pitch ? c.values && a.in_pitch != a.out_pitch : a.in_pitch != a.V || !dense_out)
      throw Refused(n.one_pitch ? "pitches of input and output differ, and the entry takes one"
                                : "rows do not lie V apart, and the entry takes no pitch");
  }
  const WorkspaceLayout at(c, n);
  if (at.end > 0 && (c.workspace_bytes < at.end || !c.workspace))
    throw Refused("the workspace is smaller than the entry asked for");
  auto* const base = static_cast<unsigned char*>(c.workspace);
  a.workspace = at.own ? base : nullptr;
  a.workspace_bytes = at.own;
  a.m = c.m ? c.m->data : n.m ? base + at.m : nullptr;
  a.d = c.d ? c.d->data : n.d ? base + at.d : nullptr;
  if (!c.values && n.out_bytes) {
    a.out = base + at.out;
    a.out_pitch = n.one_pitch ? a.in_pitch : a.V;
    if (n.inout || (n.one_pitch && a.in_pitch != a.V))
      throw Refused("(m, d) alone cannot be asked of this entry");
  }
  a.indices =
      c.indices ? (at.end > at.indices && at.end != at.own ? base + at.indices : c.indices->data) : nullptr;
  return a;
}

/// Bytes of one element.
inline uint64_t element(const assay_tensor* t) { return t->dtype.bits / 8u; }

/// The arguments for one row, in the call's own buffers or in those that replace them.
inline Arguments row_of(const Arguments& all, const assay_call& c, const Needs& n, int64_t row) {
  Arguments a = all;
  const auto r = static_cast<uint64_t>(row);
  const auto at = [r](void* p, uint64_t bytes) -> void* {
    return p ? static_cast<unsigned char*>(p) + r * bytes : nullptr;
  };
  a.rows = 1;
  a.in = at(const_cast<void*>(all.in), static_cast<uint64_t>(all.in_pitch) * element(c.logits));
  a.gradients = at(const_cast<void*>(all.gradients), static_cast<uint64_t>(all.in_pitch) * element(c.logits));
  a.out = at(all.out, static_cast<uint64_t>(all.out_pitch) *
                          (c.values ? element(c.values) : static_cast<uint64_t>(n.out_bytes)));
  if (c.indices)
    a.indices = at(all.indices, all.indices == c.indices->data
                                    ? static_cast<uint64_t>(pitch_of(c.indices)) * element(c.indices)
                                    : static_cast<uint64_t>(all.k) * static_cast<uint64_t>(n.index_bytes));
  a.m = at(all.m, sizeof(float));
  a.d = at(all.d, sizeof(float));
  const auto operand = [&](const void* p, const assay_tensor* t) -> const void* {
    // A bias for all rows has one dimension and does not move.
    if (!t || (t->ndim == 1 && t == c.bias)) return p;
    return at(const_cast<void*>(p), static_cast<uint64_t>(t->ndim == 1 ? 1 : pitch_of(t)) * element(t));
  };
  a.mask = operand(all.mask, c.mask);
  a.bias = operand(all.bias, c.bias);
  a.lengths = operand(all.lengths, c.lengths);
  a.temperatures = operand(all.temperatures, c.temperatures);
  return a;
}

}  // namespace assay_adapter

#endif
