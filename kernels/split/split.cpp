// SPDX-License-Identifier: Apache-2.0
#include "kernels/split/split.hpp"

#include <algorithm>

namespace assay {
namespace {

std::vector<SplitKernels>& all_kernels() {
  static std::vector<SplitKernels> all;
  return all;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <class Byte>
Byte* offset_by(Byte* base, std::int64_t elements, std::size_t size) {
  return base ? base + elements * static_cast<std::int64_t>(size) : nullptr;
}

/// The calls of all parts for one chunk, all of them on the same memory.
std::vector<SplitCall> calls_of(const SplitKernels& k, const Problem& p, const Buffers& b, int parts,
                                Span chunk) {
  const std::vector<Span> slices = column_slices(p.V, parts);
  std::vector<SplitCall> calls;
  for (int own = 0; own < parts; ++own) {
    const Span slice = slices[static_cast<std::size_t>(own)];
    SplitCall c;
    c.logits = offset_by(static_cast<const std::byte*>(b.logits), chunk.first * p.in_pitch + slice.first,
                         size_of(p.in));
    c.probs =
        offset_by(static_cast<std::byte*>(b.probs), chunk.first * p.out_pitch + slice.first, size_of(p.out));
    c.in_pitch = p.in_pitch;
    c.out_pitch = p.out_pitch;
    c.rows = chunk.count;
    c.columns = slice.count;
    c.blocks = k.blocks(slices.front().count);
    c.parts = parts;
    c.own = own;
    c.all = static_cast<float*>(b.workspace);
    calls.push_back(c);
  }
  return calls;
}

}  // namespace

std::vector<Span> column_slices(std::int64_t V, int parts) {
  const std::int64_t each = ceil_div(V, parts);
  std::vector<Span> all;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = std::min(i * each, V);
    all.push_back({first, std::min(each, V - first)});
  }
  return all;
}

std::vector<Span> row_chunks(std::int64_t rows, std::int64_t rows_a_chunk) {
  std::vector<Span> all;
  for (std::int64_t first = 0; first < rows; first += rows_a_chunk)
    all.push_back({first, std::min(rows_a_chunk, rows - first)});
  return all;
}

const SplitKernels* find_split_kernels(Backend backend, Dtype dtype, bool fast) {
  for (const SplitKernels& k : all_kernels())
    if (k.backend == backend && k.dtype == dtype && k.fast == fast) return &k;
  return nullptr;
}

bool register_split_kernels(SplitKernels k) {
  all_kernels().push_back(std::move(k));
  return true;
}

Variant split_on_one_memory(const SplitKernels& kernels, int parts, std::int64_t rows_a_chunk) {
  Variant v;
  v.variant = kernels.fast ? "onepass_split_fast" : "onepass_split";
  v.dtype = kernels.dtype;
  v.backend = kernels.backend;
  v.claim = kernels.claim;
  v.file = "kernels/split/split_kernels.cu";
  v.writes_normalizer = false;
  v.workspace_bytes = [k = kernels, parts, rows_a_chunk](const Problem& p) {
    const std::int64_t rows = std::min(p.rows, rows_a_chunk), blocks = k.blocks(ceil_div(p.V, parts));
    return static_cast<std::size_t>(parts * rows * blocks) * 2 * sizeof(float);
  };
  v.run = [k = kernels, parts, rows_a_chunk](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.V == 0) return;
    for (const Span chunk : row_chunks(p.rows, rows_a_chunk)) {
      const std::vector<SplitCall> calls = calls_of(k, p, b, parts, chunk);
      for (const SplitCall& c : calls) k.sums(c, s);
      for (const SplitCall& c : calls) k.outputs(c, s);
    }
  };
  return v;
}

}  // namespace assay
