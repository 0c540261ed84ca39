// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/guarded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace assay {
namespace {

/// 2^100, or the largest value of a smaller format. A read past a row then changes any maximum and any sum. A
/// NaN could stay unseen in fmaxf.
std::uint64_t large(Dtype t) {
  switch (t) {
    case Dtype::f16:
      return 0x7bff;  // 65504
    case Dtype::bf16:
      return 0x7180;
    case Dtype::f32:
      return 0x71800000;
    case Dtype::f64:
      return 0x4630000000000000;
  }
  return 0;
}

/// Two NaN payloads for each format; arithmetic produces neither of them.
std::uint64_t poison(Dtype t, int which) {
  if (which == 2) return large(t);
  switch (t) {
    case Dtype::f16:
      return which ? 0xfeb5 : 0x7e5a;
    case Dtype::bf16:
      return which ? 0xffcb : 0x7fda;
    case Dtype::f32:
      return which ? 0xffcba987 : 0x7fc5a5a5;
    case Dtype::f64:
      return which ? 0xfffcba9876543210u : 0x7ffc5a5a5a5a5a5au;
  }
  return 0;
}
/// The pattern of guard bands: under poison 0 a NaN in every format; else a finite number, so that a write of
/// NaN is seen too.
std::uint64_t canary(Dtype t, int which) { return which ? large(t) : ~std::uint64_t{0}; }
std::uint64_t index_canary(int which) { return which ? 0xc5c5c5c5c5c5c5c5u : ~std::uint64_t{0}; }
std::uint64_t in_gap(Dtype t, int which) { return which ? large(t) : poison(t, 0); }
std::uint64_t index_poison(int which) { return which == 1 ? 0xa55aa55aa55aa55au : 0x5aa55aa55aa55aa5u; }
std::uint64_t low_bytes(std::uint64_t v, std::size_t n) {
  return n == 8 ? v : v & ((std::uint64_t{1} << 8 * n) - 1);
}

std::int64_t extent(std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  return rows == 0 ? 0 : (rows - 1) * pitch + columns;
}

}  // namespace

Layout plain_layout() { return {}; }
Layout hostile_layout() {
  return {
      .in_gap = 3, .out_gap = 5, .offset = 1, .poison = 1, .launch = {.schedule = 0x5eed, .max_blocks = 2}};
}

Layout fitted(Layout layout, const Variant& variant, const Problem& p) {
  const Limits& l = variant.limits;
  if (l.dense) layout.in_gap = layout.out_gap = 0;
  if (l.alignment <= 1) return layout;
  const auto in = static_cast<std::int64_t>(size_of(p.in)), out = static_cast<std::int64_t>(size_of(p.out));
  // Sizes and alignment are powers of two.
  const std::int64_t step = std::max<std::int64_t>(1, l.alignment / std::min(in, out));
  layout.offset = (layout.offset + step - 1) / step * step;
  layout.out_offset = layout.out_offset / step * step;
  if (l.dense) return layout;
  while ((p.V + layout.in_gap) * in % l.alignment != 0) ++layout.in_gap;
  while ((p.out_columns() + layout.out_gap) * out % l.alignment != 0) ++layout.out_gap;
  return layout;
}

GuardedLaunch::GuardedLaunch(const Variant& variant, Problem problem, const Tensor& logits,
                             const Layout& layout, const Beside& beside)
    : variant_(variant), problem_(problem), logits_(logits), gradients_(beside.gradients), layout_(layout) {
  Problem& p = problem_;
  p.in_pitch = p.V + layout.in_gap;
  p.out_pitch = p.out_columns() + layout.out_gap;
  const std::size_t in = size_of(p.in), out = size_of(p.out);
  const auto rows = static_cast<std::size_t>(p.rows);
  const auto bytes = [](std::int64_t elements, std::size_t size) {
    return static_cast<std::size_t>(elements) * size;
  };
  const auto off = static_cast<std::size_t>(layout.offset);
  const auto out_off = static_cast<std::size_t>(layout.offset + layout.out_offset);

  images_.logits = Image(bytes(extent(p.rows, p.V, p.in_pitch), in), off * in, layout.guard);
  fill(images_.logits, in, in_gap(p.in, layout.poison), canary(p.in, layout.poison));
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.V > 0)
      std::memcpy(images_.logits.payload() + bytes(r * p.in_pitch, in), logits.row(r), bytes(p.V, in));

  place_gradients();
  if (layout.launch.in_place) p.out_pitch = p.in_pitch;
  if (p.op != Op::normalizer && !layout.launch.in_place) {
    images_.probs =
        Image(bytes(extent(p.rows, p.out_columns(), p.out_pitch), out), out_off * out, layout.guard);
    fill(images_.probs, out, poison(p.out, layout.poison), canary(p.out, layout.poison));
  }
  if (selects(p.op)) {
    const auto size = static_cast<std::size_t>(p.index_bytes());
    images_.indices = Image(bytes(extent(p.rows, p.k, p.out_pitch), size), out_off * size, layout.guard);
    fill(images_.indices, size, index_poison(layout.poison), index_canary(layout.poison));
  }
  const bool pair = variant.writes_normalizer && (p.op == Op::softmax || p.op == Op::softmax_topk);
  if (pair || p.op == Op::normalizer) {
    images_.m = Image(rows * sizeof(float), out_off * sizeof(float), layout.guard);
    images_.d = Image(rows * sizeof(float), out_off * sizeof(float), layout.guard);
    fill(images_.m, sizeof(float), poison(Dtype::f32, layout.poison), canary(Dtype::f32, layout.poison));
    fill(images_.d, sizeof(float), poison(Dtype::f32, layout.poison), canary(Dtype::f32, layout.poison));
  }
  make_operands(beside.operands ? *beside.operands : OperandValues());
  if (variant.workspace_bytes) {
    if (const std::size_t n = variant.workspace_bytes(p); n > 0) {
      images_.workspace = Image(n, 0, layout.guard);
      fill(images_.workspace, sizeof(float), poison(Dtype::f32, layout.poison),
           canary(Dtype::f32, layout.poison));
    }
  }
}

void GuardedLaunch::place_gradients() {
  if (!gradients_) return;
  const Problem& p = problem_;
  const std::size_t in = size_of(p.in), pitch = static_cast<std::size_t>(p.in_pitch) * in;
  images_.gradients = Image(static_cast<std::size_t>(extent(p.rows, p.V, p.in_pitch)) * in,
                            static_cast<std::size_t>(layout_.offset) * in, layout_.guard);
  fill(images_.gradients, in, in_gap(p.in, layout_.poison), canary(p.in, layout_.poison));
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.V > 0)
      std::memcpy(images_.gradients.payload() + static_cast<std::size_t>(r) * pitch, gradients_->row(r),
                  static_cast<std::size_t>(p.V) * in);
}

void GuardedLaunch::judge_gradients(Tally& tally) const {
  if (!gradients_) return;
  const Problem& p = problem_;
  const std::size_t in = size_of(p.in), pitch = static_cast<std::size_t>(p.in_pitch) * in;
  judge_guard(tally, images_.gradients, in, canary(p.in, layout_.poison), "gradients");
  judge_gaps(tally, images_.gradients, in, p.V, p.in_pitch, in_gap(p.in, layout_.poison), "gradients");
  for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r)
    if (!tally.require(Check::inputs,
                       std::memcmp(images_.gradients.payload() + static_cast<std::size_t>(r) * pitch,
                                   gradients_->row(r), static_cast<std::size_t>(p.V) * in) == 0) &&
        tally.first(Check::inputs))
      tally.at(Check::inputs).detail = fmt::format("row {} of the gradients was changed", r);
}

void GuardedLaunch::fill(Image& image, std::size_t element, std::uint64_t pattern, std::uint64_t guard) {
  // Patterns are written from the payload's first byte in both directions. Bands and offsets are multiples of
  // the element size; a workspace need not be. Whole blocks are copied, because one copy for each element took
  // a tenth of a report's time.
  const auto put = [&](std::byte* from, const std::byte* to, std::uint64_t bits) {
    std::byte block[64];
    for (std::size_t i = 0; i < sizeof block; i += element) std::memcpy(block + i, &bits, element);
    for (; to - from >= std::ptrdiff_t{sizeof block}; from += sizeof block)
      std::memcpy(from, block, sizeof block);
    std::memcpy(from, block, static_cast<std::size_t>(to - from));
  };
  put(image.data(), image.data() + image.size(), guard);
  put(image.payload(), image.payload() + image.payload_bytes(), pattern);
}

void GuardedLaunch::receive(std::int64_t row, const std::byte* values, const std::byte* indices,
                            const float* m, const float* d) {
  const auto put = [&](Image& image, const void* from, std::size_t element, std::int64_t columns,
                       std::int64_t pitch) {
    if (!image.empty() && columns > 0)
      std::memcpy(image.payload() + static_cast<std::size_t>(row * pitch) * element, from,
                  static_cast<std::size_t>(columns) * element);
  };
  put(images_.probs, values, size_of(problem_.out), problem_.out_columns(), problem_.out_pitch);
  put(images_.indices, indices, static_cast<std::size_t>(problem_.index_bytes()), problem_.k,
      problem_.out_pitch);
  put(images_.m, m, sizeof(float), 1, 1);
  put(images_.d, d, sizeof(float), 1, 1);
}

void GuardedLaunch::copy_row(std::int64_t row, GuardedLaunch& to, std::int64_t at) const {
  const auto from = [&](const Image& image, std::int64_t offset, std::size_t element) {
    return image.empty() ? nullptr : image.payload() + static_cast<std::size_t>(offset) * element;
  };
  to.receive(
      at, from(images_.probs, row * problem_.out_pitch, size_of(problem_.out)),
      from(images_.indices, row * problem_.out_pitch, static_cast<std::size_t>(problem_.index_bytes())),
      reinterpret_cast<const float*>(from(images_.m, row, sizeof(float))),
      reinterpret_cast<const float*>(from(images_.d, row, sizeof(float))));
}

LaunchOutcome GuardedLaunch::run() { return launch(variant_, problem_, images_, layout_.launch); }

std::array<LaunchOutcome, 2> GuardedLaunch::run_both(GuardedLaunch& a, GuardedLaunch& b) {
  return a.variant_.launcher->launch_both(a.variant_, a.problem_, {&a.images_, &b.images_}, a.layout_.launch);
}

void GuardedLaunch::judge_guard(Tally& tally, const Image& image, std::size_t element, std::uint64_t guard,
                                const char* what) const {
  if (image.empty()) return;
  std::array<std::byte, 8> bytes;
  std::memcpy(bytes.data(), &guard, 8);
  const auto intact = [&](const std::byte* from, const std::byte* to) {
    for (std::size_t i = static_cast<std::size_t>(from - image.data()); from != to; ++from, ++i)
      if (*from != bytes[i % element]) return false;
    return true;
  };
  const bool before = intact(image.data(), image.payload());
  const bool after = intact(image.payload() + image.payload_bytes(), image.data() + image.size());
  if (!tally.require(Check::guard, before && after) && tally.first(Check::guard))
    tally.at(Check::guard).detail =
        fmt::format("bytes {} the {} were overwritten", before ? "after" : "before", what);
}

void GuardedLaunch::judge_gaps(Tally& tally, const Image& image, std::size_t element, std::int64_t columns,
                               std::int64_t pitch, std::uint64_t pattern, const char* what) const {
  if (image.empty() || pitch == columns) return;
  for (std::int64_t r = 0; r + 1 < problem_.rows; ++r)
    for (std::int64_t j = columns; j < pitch; ++j)
      if (!tally.require(Check::guard,
                         load_unsigned(element, image.payload(), r * pitch + j) == low_bytes(pattern, element)) &&
          tally.first(Check::guard))
        tally.at(Check::guard).detail =
            fmt::format("the gap after row {} of the {} was overwritten", r, what);
}

void GuardedLaunch::inspect(Tally& tally) const {
  const Problem& p = problem_;
  judge_guard(tally, images_.logits, size_of(p.in), canary(p.in, layout_.poison), "logits");
  judge_guard(tally, images_.probs, size_of(p.out), canary(p.out, layout_.poison), "values");
  judge_guard(tally, images_.indices, static_cast<std::size_t>(p.index_bytes()), index_canary(layout_.poison),
              "indices");
  judge_guard(tally, images_.m, 4, canary(Dtype::f32, layout_.poison), "row maxima");
  judge_guard(tally, images_.d, 4, canary(Dtype::f32, layout_.poison), "row sums");
  judge_guard(tally, images_.workspace, 4, canary(Dtype::f32, layout_.poison), "workspace");
  inspect_operands(tally);
  const std::size_t in = size_of(p.in);
  judge_gaps(tally, images_.logits, in, p.V, p.in_pitch, in_gap(p.in, layout_.poison), "logits");
  judge_gaps(tally, images_.probs, size_of(p.out), p.out_columns(), p.out_pitch,
             poison(p.out, layout_.poison), "values");
  judge_gaps(tally, images_.indices, static_cast<std::size_t>(p.index_bytes()), p.k, p.out_pitch,
             index_poison(layout_.poison), "indices");
  judge_gradients(tally);
  if (layout_.launch.in_place) return;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const bool same =
        p.V == 0 || std::memcmp(images_.logits.payload() + static_cast<std::size_t>(r * p.in_pitch) * in,
                                logits_.row(r), static_cast<std::size_t>(p.V) * in) == 0;
    if (!tally.require(Check::inputs, same) && tally.first(Check::inputs))
      tally.at(Check::inputs).detail = fmt::format("row {} of the logits was changed", r);
  }
}

std::uint64_t GuardedLaunch::value_bits(std::int64_t row, std::int64_t j) const {
  const Image& image = layout_.launch.in_place ? images_.logits : images_.probs;
  return load_unsigned(size_of(problem_.out), image.payload(), row * problem_.out_pitch + j);
}
std::int64_t GuardedLaunch::index(std::int64_t row, std::int64_t r) const {
  const std::uint64_t v =
      load_unsigned(static_cast<std::size_t>(problem_.index_bytes()), images_.indices.payload(),
                    row * problem_.out_pitch + r);
  return problem_.index_bytes() == 8 ? static_cast<std::int64_t>(v) : static_cast<std::int32_t>(v);
}
float GuardedLaunch::m(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load_unsigned(4, images_.m.payload(), row)));
}
float GuardedLaunch::d(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load_unsigned(4, images_.d.payload(), row)));
}
bool GuardedLaunch::value_poisoned(std::int64_t row, std::int64_t j) const {
  return !layout_.launch.in_place && value_bits(row, j) == poison(problem_.out, layout_.poison);
}
bool GuardedLaunch::index_poisoned(std::int64_t row, std::int64_t r) const {
  const auto size = static_cast<std::size_t>(problem_.index_bytes());
  return load_unsigned(size, images_.indices.payload(), row * problem_.out_pitch + r) ==
         low_bytes(index_poison(layout_.poison), size);
}
bool GuardedLaunch::m_poisoned(std::int64_t row) const {
  return load_unsigned(4, images_.m.payload(), row) == poison(Dtype::f32, layout_.poison);
}
bool GuardedLaunch::d_poisoned(std::int64_t row) const {
  return load_unsigned(4, images_.d.payload(), row) == poison(Dtype::f32, layout_.poison);
}

}  // namespace assay
