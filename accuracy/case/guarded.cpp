// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/guarded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace assay {
namespace {

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

GuardedLaunch::Patterns GuardedLaunch::patterns(Dtype t) const {
  const bool finite = layout_.poison != 0;
  const std::uint64_t from = drawn(layout_.draw, static_cast<std::uint64_t>(layout_.poison));
  // Several words from one: an output never holds what is beside it.
  Patterns of;
  of.output =
      layout_.outputs == Stale::finite ? drawn_large(t, drawn(from, 1)) : drawn_nan(t, drawn(from, 1));
  of.guard = finite ? drawn_large(t, drawn(from, 2)) : drawn_nan(t, drawn(from, 2));
  of.gap = finite ? drawn_large(t, drawn(from, 3)) : drawn_nan(t, drawn(from, 3));
  return of;
}

GuardedLaunch::Patterns GuardedLaunch::index_patterns() const {
  const std::uint64_t from = drawn(layout_.draw, 16 + static_cast<std::uint64_t>(layout_.poison));
  return {drawn_no_index(drawn(from, 1)), drawn_no_index(drawn(from, 2)), drawn_no_index(drawn(from, 3))};
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
  if (layout_.draw == 0) layout_.draw = drawn_for("", p.V, p.rows, seed_of_run());
  // Of an empty row nothing may be written, which only a mark shows.
  if (p.V == 0 || p.rows == 0) layout_.outputs = Stale::mark;
  const Patterns of_in = patterns(p.in), of_out = patterns(p.out), of_f32 = patterns(Dtype::f32);
  mark_ = of_out.output, mark_f32_ = of_f32.output, mark_index_ = index_patterns().output;
  const std::size_t in = size_of(p.in), out = size_of(p.out);
  const auto rows = static_cast<std::size_t>(p.rows);
  const auto bytes = [](std::int64_t elements, std::size_t size) {
    return static_cast<std::size_t>(elements) * size;
  };
  const auto off = static_cast<std::size_t>(layout.offset);
  const auto out_off = static_cast<std::size_t>(layout.offset + layout.out_offset);

  images_.logits = Image(bytes(extent(p.rows, p.V, p.in_pitch), in), off * in, layout.guard);
  fill(images_.logits, in, of_in.gap, of_in.guard);
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.V > 0)
      std::memcpy(images_.logits.payload() + bytes(r * p.in_pitch, in), logits.row(r), bytes(p.V, in));

  place_gradients();
  if (layout.launch.in_place) p.out_pitch = p.in_pitch;
  if (p.op != Op::normalizer && !layout.launch.in_place) {
    images_.probs =
        Image(bytes(extent(p.rows, p.out_columns(), p.out_pitch), out), out_off * out, layout.guard);
    fill(images_.probs, out, of_out.output, of_out.guard);
  }
  if (selects(p.op)) {
    const auto size = static_cast<std::size_t>(p.index_bytes());
    images_.indices = Image(bytes(extent(p.rows, p.k, p.out_pitch), size), out_off * size, layout.guard);
    fill(images_.indices, size, index_patterns().output, index_patterns().guard);
  }
  const bool pair = variant.writes_normalizer && (p.op == Op::softmax || p.op == Op::softmax_topk);
  if (pair || p.op == Op::normalizer) {
    images_.m = Image(rows * sizeof(float), out_off * sizeof(float), layout.guard);
    images_.d = Image(rows * sizeof(float), out_off * sizeof(float), layout.guard);
    fill(images_.m, sizeof(float), of_f32.output, of_f32.guard);
    fill(images_.d, sizeof(float), of_f32.output, of_f32.guard);
  }
  make_operands(beside.operands ? *beside.operands : OperandValues());
  if (variant.workspace_bytes) {
    if (const std::size_t n = variant.workspace_bytes(p); n > 0) {
      images_.workspace = Image(n, 0, layout.guard);
      fill(images_.workspace, sizeof(float), of_f32.output, of_f32.guard);
    }
  }
  if (!holds_marks()) {
    make_stale();
    make_headers();
  }
}

namespace {

/// What glibc's malloc keeps in front of a block: nothing, and its size with the bit of the block before.
constexpr std::size_t kHeapHeader = 16;
std::array<std::byte, kHeapHeader> heap_header(const Image& image) {
  const std::uint64_t words[2] = {0, ((image.payload_bytes() + 8 + 15) & ~std::uint64_t{15}) | 1};
  std::array<std::byte, kHeapHeader> bytes;
  std::memcpy(bytes.data(), words, kHeapHeader);
  return bytes;
}

}  // namespace

bool GuardedLaunch::has_header(const Image& image) const {
  const bool of_row = &image == &images_.logits || &image == &images_.probs || &image == &images_.indices;
  return of_row && !holds_marks() &&
         image.payload() - image.data() >= static_cast<std::ptrdiff_t>(kHeapHeader);
}

void GuardedLaunch::make_headers() {
  for (Image* const image : {&images_.logits, &images_.probs, &images_.indices})
    if (!image->empty() && has_header(*image))
      std::memcpy(image->payload() - kHeapHeader, heap_header(*image).data(), kHeapHeader);
}

void GuardedLaunch::make_stale() {
  const Problem& p = problem_;
  const bool zeros = layout_.outputs == Stale::zeros;
  const std::uint64_t from = drawn(layout_.draw, 32);
  // Gaps keep their pattern.
  const auto put = [&](Image& image, std::size_t element, std::int64_t columns, std::int64_t pitch,
                       const std::vector<std::uint64_t>& values) {
    if (image.empty() || columns <= 0) return;
    std::size_t at = 0;
    for (std::int64_t r = 0; r < p.rows; ++r) {
      std::byte* const row = image.payload() + static_cast<std::size_t>(r * pitch) * element;
      if (values.empty()) {
        std::memset(row, 0, static_cast<std::size_t>(columns) * element);
        continue;
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        std::memcpy(row + static_cast<std::size_t>(j) * element, &values[at], element);
        if (++at == values.size()) at = 0;
      }
    }
  };
  std::vector<std::uint64_t> values, m, d, indices;
  if (!zeros) {
    values = stale_values(layout_.outputs, p, logits_, from);
    for (std::uint64_t n = 0; n < 64; ++n) {
      const std::uint64_t word = drawn(from, n);
      const auto column = static_cast<std::int64_t>(n) % p.V;
      // A maximum of other logits, and a sum from 1 to V.
      m.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(logits_.at(0, column)) + 0.25f));
      d.push_back(std::bit_cast<std::uint32_t>(
          1 + static_cast<float>(word % static_cast<std::uint64_t>(p.V)) * 0.37f));
      indices.push_back(word % static_cast<std::uint64_t>(p.V));
    }
  }
  put(images_.probs, size_of(p.out), p.out_columns(), p.out_pitch, values);
  put(images_.indices, static_cast<std::size_t>(p.index_bytes()), p.k, p.out_pitch, indices);
  put(images_.m, sizeof(float), 1, 1, m);
  put(images_.d, sizeof(float), 1, 1, d);
  if (zeros && !images_.workspace.empty())
    std::memset(images_.workspace.payload(), 0, images_.workspace.payload_bytes());
}

void GuardedLaunch::place_gradients() {
  if (!gradients_) return;
  const Problem& p = problem_;
  const std::size_t in = size_of(p.in), pitch = static_cast<std::size_t>(p.in_pitch) * in;
  images_.gradients = Image(static_cast<std::size_t>(extent(p.rows, p.V, p.in_pitch)) * in,
                            static_cast<std::size_t>(layout_.offset) * in, layout_.guard);
  fill(images_.gradients, in, patterns(p.in).gap, patterns(p.in).guard);
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.V > 0)
      std::memcpy(images_.gradients.payload() + static_cast<std::size_t>(r) * pitch, gradients_->row(r),
                  static_cast<std::size_t>(p.V) * in);
}

void GuardedLaunch::judge_gradients(Tally& tally) const {
  if (!gradients_) return;
  const Problem& p = problem_;
  const std::size_t in = size_of(p.in), pitch = static_cast<std::size_t>(p.in_pitch) * in;
  judge_guard(tally, images_.gradients, in, patterns(p.in).guard, "gradients");
  judge_gaps(tally, images_.gradients, in, p.V, p.in_pitch, patterns(p.in).gap, "gradients");
  for (std::int64_t r = 0; r < p.rows && p.V > 0; ++r)
    if (!tally.require(Check::inputs,
                       std::memcmp(images_.gradients.payload() + static_cast<std::size_t>(r) * pitch,
                                   gradients_->row(r), static_cast<std::size_t>(p.V) * in) == 0) &&
        tally.first(Check::inputs))
      tally.at(Check::inputs).detail = fmt::format("row {} of the gradients was changed", r);
}

void GuardedLaunch::fill(Image& image, std::size_t element, std::uint64_t pattern, std::uint64_t guard) {
  // Patterns are written from the payload's first byte in both directions. Bands and offsets are multiples of
  // the element size; a workspace need not be. Whole blocks are copied, because one copy for each element
  // took a tenth of a report's time.
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
  const std::byte* end = image.payload();
  bool before = true;
  if (has_header(image)) {
    end -= kHeapHeader;
    before = std::memcmp(end, heap_header(image).data(), kHeapHeader) == 0;
  }
  before = before && intact(image.data(), end);
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
      if (!tally.require(Check::guard, load_unsigned(element, image.payload(), r * pitch + j) ==
                                           low_bytes(pattern, element)) &&
          tally.first(Check::guard))
        tally.at(Check::guard).detail =
            fmt::format("the gap after row {} of the {} was overwritten", r, what);
}

void GuardedLaunch::inspect(Tally& tally) const {
  const Problem& p = problem_;
  const Patterns of_in = patterns(p.in), of_out = patterns(p.out), of_f32 = patterns(Dtype::f32),
                 of_index = index_patterns();
  const auto index_size = static_cast<std::size_t>(p.index_bytes());
  judge_guard(tally, images_.logits, size_of(p.in), of_in.guard, "logits");
  judge_guard(tally, images_.probs, size_of(p.out), of_out.guard, "values");
  judge_guard(tally, images_.indices, index_size, of_index.guard, "indices");
  judge_guard(tally, images_.m, 4, of_f32.guard, "row maxima");
  judge_guard(tally, images_.d, 4, of_f32.guard, "row sums");
  judge_guard(tally, images_.workspace, 4, of_f32.guard, "workspace");
  inspect_operands(tally);
  const std::size_t in = size_of(p.in);
  judge_gaps(tally, images_.logits, in, p.V, p.in_pitch, of_in.gap, "logits");
  judge_gaps(tally, images_.probs, size_of(p.out), p.out_columns(), p.out_pitch, of_out.output, "values");
  judge_gaps(tally, images_.indices, index_size, p.k, p.out_pitch, of_index.output, "indices");
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
  const std::uint64_t v = load_unsigned(static_cast<std::size_t>(problem_.index_bytes()),
                                        images_.indices.payload(), row * problem_.out_pitch + r);
  return problem_.index_bytes() == 8 ? static_cast<std::int64_t>(v) : static_cast<std::int32_t>(v);
}
float GuardedLaunch::m(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load_unsigned(4, images_.m.payload(), row)));
}
float GuardedLaunch::d(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load_unsigned(4, images_.d.payload(), row)));
}
bool GuardedLaunch::value_poisoned(std::int64_t row, std::int64_t j) const {
  return holds_marks() && !layout_.launch.in_place && value_bits(row, j) == mark_;
}
bool GuardedLaunch::index_poisoned(std::int64_t row, std::int64_t r) const {
  const auto size = static_cast<std::size_t>(problem_.index_bytes());
  return holds_marks() && load_unsigned(size, images_.indices.payload(), row * problem_.out_pitch + r) ==
                              low_bytes(mark_index_, size);
}
bool GuardedLaunch::m_poisoned(std::int64_t row) const {
  return holds_marks() && load_unsigned(4, images_.m.payload(), row) == mark_f32_;
}
bool GuardedLaunch::d_poisoned(std::int64_t row) const {
  return holds_marks() && load_unsigned(4, images_.d.payload(), row) == mark_f32_;
}

}  // namespace assay
