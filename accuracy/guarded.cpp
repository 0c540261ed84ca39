#include "accuracy/guarded.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace assay {
namespace {

constexpr std::size_t kGuard = 512;  // bytes on either side of every payload
/// Guard bands: a NaN in every format under poison 0, so that reading past a row cannot stay unseen; a
/// finite pattern under poison 1, so that neither can a write of NaN.
unsigned char canary(int which) { return which ? 0xc5 : 0xff; }

/// Two NaN payloads per format, neither of them one that arithmetic produces.
std::uint64_t poison(Dtype t, int which) {
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
std::uint64_t index_poison(int which) { return which ? 0xa55aa55aa55aa55au : 0x5aa55aa55aa55aa5u; }
std::uint64_t low_bytes(std::uint64_t v, std::size_t n) {
  return n == 8 ? v : v & ((std::uint64_t{1} << 8 * n) - 1);
}

std::uint64_t load(const std::byte* base, std::size_t element, std::int64_t i) {
  // Every payload starts at a multiple of its element.
  switch (element) {
    case 2:
      return reinterpret_cast<const std::uint16_t*>(base)[i];
    case 4:
      return reinterpret_cast<const std::uint32_t*>(base)[i];
    default:
      return reinterpret_cast<const std::uint64_t*>(base)[i];
  }
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

GuardedLaunch::GuardedLaunch(const Variant& variant, Problem problem, const Tensor& logits,
                             const Layout& layout)
    : variant_(variant), problem_(problem), logits_(logits), layout_(layout) {
  Problem& p = problem_;
  p.in_pitch = p.V + layout.in_gap;
  p.out_pitch = p.out_columns() + layout.out_gap;
  const std::size_t in = size_of(p.in), out = size_of(p.out);
  const auto rows = static_cast<std::size_t>(p.rows);
  const auto bytes = [](std::int64_t elements, std::size_t size) {
    return static_cast<std::size_t>(elements) * size;
  };
  const auto off = static_cast<std::size_t>(layout.offset);

  images_.logits = Image(bytes(extent(p.rows, p.V, p.in_pitch), in), off * in, kGuard);
  fill(images_.logits, in, poison(p.in, layout.poison));
  for (std::int64_t r = 0; r < p.rows; ++r)
    if (p.V > 0)
      std::memcpy(images_.logits.payload() + bytes(r * p.in_pitch, in), logits.row(r), bytes(p.V, in));

  if (p.op != Op::normalizer) {
    images_.probs = Image(bytes(extent(p.rows, p.out_columns(), p.out_pitch), out), off * out, kGuard);
    fill(images_.probs, out, poison(p.out, layout.poison));
  }
  if (selects(p.op)) {
    const auto size = static_cast<std::size_t>(p.index_bytes());
    images_.indices = Image(bytes(extent(p.rows, p.k, p.out_pitch), size), off * size, kGuard);
    fill(images_.indices, size, index_poison(layout.poison));
  }
  if (p.op == Op::softmax || p.op == Op::softmax_topk || p.op == Op::normalizer) {
    images_.m = Image(rows * sizeof(float), off * sizeof(float), kGuard);
    images_.d = Image(rows * sizeof(float), off * sizeof(float), kGuard);
    fill(images_.m, sizeof(float), poison(Dtype::f32, layout.poison));
    fill(images_.d, sizeof(float), poison(Dtype::f32, layout.poison));
  }
  if (variant.workspace_bytes) {
    if (const std::size_t n = variant.workspace_bytes(p); n > 0) {
      images_.workspace = Image(n, 0, kGuard);
      fill(images_.workspace, sizeof(float), poison(Dtype::f32, layout.poison));
    }
  }
}

void GuardedLaunch::fill(Image& image, std::size_t element, std::uint64_t pattern) {
  std::memset(image.data(), canary(layout_.poison), image.size());
  std::byte* p = image.payload();
  for (std::size_t i = 0; i + element <= image.payload_bytes(); i += element)
    std::memcpy(p + i, &pattern, element);
}

LaunchOutcome GuardedLaunch::run() { return launch(variant_, problem_, images_, layout_.launch); }

void GuardedLaunch::judge_guard(Tally& tally, const Image& image, const char* what) const {
  if (image.empty()) return;
  const auto intact = [this](const std::byte* from, const std::byte* to) {
    for (; from != to; ++from)
      if (*from != static_cast<std::byte>(canary(layout_.poison))) return false;
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
                         load(image.payload(), element, r * pitch + j) == low_bytes(pattern, element)) &&
          tally.first(Check::guard))
        tally.at(Check::guard).detail =
            fmt::format("the gap after row {} of the {} was overwritten", r, what);
}

void GuardedLaunch::inspect(Tally& tally) const {
  const Problem& p = problem_;
  judge_guard(tally, images_.logits, "logits");
  judge_guard(tally, images_.probs, "values");
  judge_guard(tally, images_.indices, "indices");
  judge_guard(tally, images_.m, "row maxima");
  judge_guard(tally, images_.d, "row sums");
  judge_guard(tally, images_.workspace, "workspace");
  const std::size_t in = size_of(p.in);
  judge_gaps(tally, images_.logits, in, p.V, p.in_pitch, poison(p.in, layout_.poison), "logits");
  judge_gaps(tally, images_.probs, size_of(p.out), p.out_columns(), p.out_pitch,
             poison(p.out, layout_.poison), "values");
  judge_gaps(tally, images_.indices, static_cast<std::size_t>(p.index_bytes()), p.k, p.out_pitch,
             index_poison(layout_.poison), "indices");
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const bool same =
        p.V == 0 || std::memcmp(images_.logits.payload() + static_cast<std::size_t>(r * p.in_pitch) * in,
                                logits_.row(r), static_cast<std::size_t>(p.V) * in) == 0;
    if (!tally.require(Check::inputs, same) && tally.first(Check::inputs))
      tally.at(Check::inputs).detail = fmt::format("row {} of the logits was changed", r);
  }
}

std::uint64_t GuardedLaunch::value_bits(std::int64_t row, std::int64_t j) const {
  return load(images_.probs.payload(), size_of(problem_.out), row * problem_.out_pitch + j);
}
std::int64_t GuardedLaunch::index(std::int64_t row, std::int64_t r) const {
  const std::uint64_t v = load(images_.indices.payload(), static_cast<std::size_t>(problem_.index_bytes()),
                               row * problem_.out_pitch + r);
  return problem_.index_bytes() == 8 ? static_cast<std::int64_t>(v) : static_cast<std::int32_t>(v);
}
float GuardedLaunch::m(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load(images_.m.payload(), 4, row)));
}
float GuardedLaunch::d(std::int64_t row) const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(load(images_.d.payload(), 4, row)));
}
bool GuardedLaunch::value_poisoned(std::int64_t row, std::int64_t j) const {
  return value_bits(row, j) == poison(problem_.out, layout_.poison);
}
bool GuardedLaunch::index_poisoned(std::int64_t row, std::int64_t r) const {
  const auto size = static_cast<std::size_t>(problem_.index_bytes());
  return load(images_.indices.payload(), size, row * problem_.out_pitch + r) ==
         low_bytes(index_poison(layout_.poison), size);
}
bool GuardedLaunch::m_poisoned(std::int64_t row) const {
  return load(images_.m.payload(), 4, row) == poison(Dtype::f32, layout_.poison);
}
bool GuardedLaunch::d_poisoned(std::int64_t row) const {
  return load(images_.d.payload(), 4, row) == poison(Dtype::f32, layout_.poison);
}

}  // namespace assay
