// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/big_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay::conformance {
namespace {

enum Buffer { kLogits, kValues, kIndices, kM, kD, kWorkspace, kMask, kBias, kLengths, kTemperatures };

/// At most this many bytes of an operand are written on the host.
constexpr std::uint64_t kWritten = std::uint64_t{64} << 20;

/// Calls run(first, n) for every stretch of consecutive columns.
template <class Run>
void stretches(const std::vector<std::int64_t>& columns, Run run) {
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t n = 1;
    while (i + n < columns.size() && columns[i + n] == columns[i] + static_cast<std::int64_t>(n)) ++n;
    run(i, n);
    i += n;
  }
}

}  // namespace

std::uint64_t drawn_unwritten(std::uint64_t draw) { return draw % 2 == 0 ? 0 : drawn_nans(draw >> 1); }

BigBuffers::BigBuffers(const Variant& v, const Problem& p, double low, std::uint64_t unwritten) : p_(p) {
  const auto set = [&](int b, std::int64_t columns, std::size_t element, std::uint64_t fill) {
    parts_[static_cast<std::size_t>(b)] = {
        static_cast<std::uint64_t>(p.rows * columns) * element, element, fill, {}, {}};
  };
  set(kLogits, p.V, size_of(p.in), encode(p.in, low));
  set(kValues, p.out_columns(), size_of(p.out), unwritten);
  set(kIndices, selects(p.op) ? p.k : 0, static_cast<std::size_t>(p.index_bytes()), unwritten);
  const bool beside = v.writes_normalizer && (p.op == Op::softmax || p.op == Op::softmax_topk);
  const bool pair = beside || p.op == Op::normalizer;
  set(kM, pair ? 1 : 0, sizeof(float), unwritten);
  set(kD, pair ? 1 : 0, sizeof(float), unwritten);
  parts_[kWorkspace] = {v.workspace_bytes ? v.workspace_bytes(p) : 0, 1, unwritten, {}, {}};
  neutral_operands(p.operands, on_device(v));
}

void BigBuffers::neutral_operands(const Operands& o, bool on_device) {
  const auto set = [&](int b, std::int64_t elements, std::size_t element, std::uint64_t fill) {
    PartBuffer& buffer = parts_[static_cast<std::size_t>(b)];
    buffer = {static_cast<std::uint64_t>(elements) * element, element, fill, {}, {}};
    if (fill == 0 || on_device) return;
    if (buffer.payload > kWritten) {
      no_room_ = obstacle(Why::memory, "an operand of so many elements is not kept on the host");
      return;
    }
    assay::Part all{0, std::vector<std::byte>(buffer.payload)};
    for (std::size_t i = 0; i < all.bytes.size(); i += element)
      std::memcpy(all.bytes.data() + i, &fill, element);
    buffer.given.push_back(std::move(all));
  };
  const auto one = [](MaskType t) -> std::uint64_t {
    return t == MaskType::f16 ? 0x3c00 : t == MaskType::bf16 ? 0x3f80 : t == MaskType::f32 ? 0x3f800000 : 1;
  };
  if (o.has(operand::any_mask))
    set(kMask, p_.rows * p_.V, size_of(o.mask), o.has(operand::mask_keep) ? one(o.mask) : 0);
  if (o.has(operand::any_bias))
    set(kBias, o.has(operand::bias_row) ? p_.V : p_.rows * p_.V, size_of(o.bias), 0);
  if (o.has(operand::lengths)) set(kLengths, p_.rows, o.length_bytes, static_cast<std::uint64_t>(p_.V));
  if (o.has(operand::temperatures)) set(kTemperatures, p_.rows, sizeof(float), 0x3f800000);
}

void BigBuffers::choose(std::int64_t row, const Tensor& logits, std::int64_t of_row,
                        const std::vector<std::int64_t>& columns) {
  const std::size_t in = size_of(p_.in);
  const std::uint64_t start = static_cast<std::uint64_t>(row * p_.in_pitch) * in;
  const std::byte* const from = logits.row(of_row);
  const auto give = [&](std::int64_t column, const std::byte* at, std::size_t n) {
    parts_[kLogits].given.push_back({start + static_cast<std::uint64_t>(column) * in, {at, at + n * in}});
    parts_[kLogits].wanted.push_back(parts_[kLogits].given.back());
  };
  if (columns.empty())
    give(0, from, static_cast<std::size_t>(p_.V));
  else
    for (std::size_t i = 0; i < columns.size(); ++i)
      // A logit that equals the fill needs no memory of its own.
      if (load_bits(p_.in, from, static_cast<std::int64_t>(i)) != parts_[kLogits].fill)
        give(columns[i], from + i * in, 1);

  Chosen c{columns, {}, {}};
  const auto want = [&](int b, std::int64_t column, std::int64_t n, std::int64_t pitch) {
    PartBuffer& buffer = parts_[static_cast<std::size_t>(b)];
    if (buffer.payload == 0 || n == 0) return;
    if (c.parts[b]++ == 0) c.first[b] = buffer.wanted.size();
    buffer.wanted.push_back({static_cast<std::uint64_t>(row * pitch + column) * buffer.element,
                             std::vector<std::byte>(static_cast<std::size_t>(n) * buffer.element)});
  };
  if (!columns.empty() && p_.out_columns() == p_.V)
    stretches(columns, [&](std::size_t i, std::size_t n) {
      want(kValues, columns[i], static_cast<std::int64_t>(n), p_.out_pitch);
    });
  else
    want(kValues, 0, p_.out_columns(), p_.out_pitch);
  want(kIndices, 0, p_.k, p_.out_pitch);
  want(kM, 0, 1, 1);
  want(kD, 0, 1, 1);
  chosen_.push_back(std::move(c));
}

std::vector<std::byte> BigBuffers::bytes_of(const Chosen& c, int b) const {
  std::vector<std::byte> all;
  for (std::size_t i = 0; i < c.parts[b]; ++i) {
    const assay::Part& part = parts_[static_cast<std::size_t>(b)].wanted[c.first[b] + i];
    all.insert(all.end(), part.bytes.begin(), part.bytes.end());
  }
  return all;
}

void BigBuffers::hand_over(std::size_t n, GuardedLaunch& to) const {
  const Chosen& c = chosen_[n];
  const std::vector<std::byte> values = bytes_of(c, kValues), m = bytes_of(c, kM), d = bytes_of(c, kD);
  std::vector<std::byte> indices = bytes_of(c, kIndices);
  if (!c.columns.empty()) {
    // The position of the column among the judged columns; a column that is not judged gives no index.
    const auto wide = static_cast<std::size_t>(p_.index_bytes());
    std::vector<std::byte> narrow(indices.size() / wide * 4);
    for (std::size_t i = 0; wide * i < indices.size(); ++i) {
      std::int64_t column = 0;
      std::memcpy(&column, indices.data() + wide * i, wide);
      const auto at = std::lower_bound(c.columns.begin(), c.columns.end(), column);
      const std::int32_t index = at != c.columns.end() && *at == column
                                     ? static_cast<std::int32_t>(at - c.columns.begin())
                                     : INT32_MAX;
      std::memcpy(narrow.data() + 4 * i, &index, 4);
    }
    indices = std::move(narrow);
  }
  const auto as_float = [](const std::vector<std::byte>& bytes) {
    return reinterpret_cast<const float*>(bytes.data());
  };
  to.receive(static_cast<std::int64_t>(n), values.data(), indices.data(), as_float(m), as_float(d));
}

std::string BigBuffers::changed_inputs() const {
  const PartBuffer& b = parts_[kLogits];
  for (std::size_t i = 0; i < b.given.size(); ++i)
    if (b.given[i].bytes != b.wanted[i].bytes)
      return fmt::format("the logits were changed, {} elements into them or later",
                         b.given[i].at / b.element);
  return {};
}

std::vector<std::byte> BigBuffers::outputs_of(std::size_t n) const {
  std::vector<std::byte> all;
  for (const int b : {kValues, kIndices, kM, kD}) {
    const std::vector<std::byte> bytes = bytes_of(chosen_[n], b);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

bool untouched(const std::vector<std::byte>& outputs) {
  return std::all_of(outputs.begin(), outputs.end(), [](std::byte x) { return x == std::byte{0xff}; });
}

}  // namespace assay::conformance
