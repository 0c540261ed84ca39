// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/big_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/operand_table.hpp"

namespace assay::conformance {
namespace {

enum Buffer { kLogits, kValues, kIndices, kM, kD, kWorkspace, kMask };

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
  neutral_operands(on_device(v));
}

void BigBuffers::neutral_operands(bool on_device) {
  const std::array<OperandBuffer, 4> all = operand_buffers(p_);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const OperandBuffer& o = all[i];
    if (o.size == 0) continue;
    PartBuffer& buffer = parts_[kMask + i];
    buffer = {static_cast<std::uint64_t>(o.elements) * o.size, o.size, o.neutral, {}, {}};
    if (o.neutral == 0 || on_device) continue;
    if (buffer.payload > kWritten) {
      no_room_ = obstacle(Why::memory, "an operand of so many elements is not kept on the host");
      continue;
    }
    BufferPart whole{0, std::vector<std::byte>(buffer.payload)};
    for (std::size_t at = 0; at < whole.bytes.size(); at += o.size)
      std::memcpy(whole.bytes.data() + at, &o.neutral, o.size);
    buffer.given.push_back(std::move(whole));
  }
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
    const BufferPart& part = parts_[static_cast<std::size_t>(b)].wanted[c.first[b] + i];
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

namespace {

using Outputs = std::vector<std::vector<std::byte>>;

/// More rows than a block has threads, so that one block with one row per thread does not own all rows.
constexpr std::int64_t kFew = 1536;
/// The most elements of a problem that is run whole, and a number of rows that is small enough at any length.
constexpr std::int64_t kWhole = std::int64_t{1} << 22, kFewest = 64;
/// A row repeats the logits of the row this many rows before it, at the same alignment.
constexpr std::int64_t kPeriod = 64;
constexpr std::int64_t kLongest = std::int64_t{1} << 20;
constexpr std::int64_t kOffsets = (std::int64_t{1} << 31) - 1;

/// The element size of the logits or of the outputs, whichever is larger.
std::int64_t widest(const Problem& p) {
  return static_cast<std::int64_t>(std::max(size_of(p.in), size_of(p.out)));
}

/// Logits by which the rows of one period can be distinguished.
Tensor pattern(Dtype dtype, std::int64_t V) {
  Tensor t(dtype, kPeriod, V);
  std::uint32_t state = 1;
  for (std::int64_t r = 0; r < kPeriod; ++r)
    for (std::int64_t j = 0; j < V; ++j) {
      state = state * 1664525 + 1013904223;
      t.set(r, j, -0.125 * (state >> 26));
    }
  return t;
}

class Probe {
 public:
  Probe(const Variant& v, Launcher& launcher, const Problem& p, double seconds)
      : v_(v), launcher_(launcher), p_(p), seconds_(seconds), logits_(pattern(v.dtype, p.V)) {}

  /// The outputs of the rows `seen`, out of n rows, after only the blocks that own the rows `run` ran; if
  /// that is empty, after all blocks ran.
  std::optional<Outputs> outputs(std::int64_t n, const std::vector<std::int64_t>& seen,
                                 const std::vector<std::int64_t>& run, std::int64_t per_block) {
    Problem p = p_;
    p.rows = n;
    BigBuffers b(v_, p, 0);
    for (const std::int64_t row : seen) b.choose(row, logits_, row % kPeriod);
    outcome = launcher_.launch_parts(v_, b.problem(), b.parts(), {run, per_block, seconds_, true});
    if (!outcome.launch.ok() || !outcome.no_room.empty()) return {};
    Outputs all;
    for (std::size_t i = 0; i < seen.size(); ++i) all.push_back(b.outputs_of(i));
    return all;
  }

  PartOutcome outcome;  // of the last launch

 private:
  const Variant& v_;
  Launcher& launcher_;
  Problem p_;
  double seconds_;
  Tensor logits_;
};

std::vector<std::int64_t> first_rows(std::int64_t n) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) rows[static_cast<std::size_t>(i)] = i;
  return rows;
}

/// Some rows in ascending order: one of the first block, one of its neighbour, the middle, the end.
std::vector<std::int64_t> spread(std::int64_t n, std::int64_t per_block) {
  std::vector<std::int64_t> rows;
  for (const std::int64_t r : {std::int64_t{0}, per_block + per_block / 2, n / 3 + 1, n / 2, n - 1})
    if (r < n && (rows.empty() || r > rows.back())) rows.push_back(r);
  return rows;
}

/// What is shown at the problem's own row length V. `other_share`: set if the first block owns more or fewer
/// rows when there are many rows.
BlockOwners owners_at(const Variant& v, Launcher& launcher, const Problem& problem, double seconds,
                      bool& other_share) {
  const auto not_shown = [](const std::string& why) { return BlockOwners{0, obstacle(Why::executor, why)}; };
  const auto no_room = [](const PartOutcome& o) { return BlockOwners{0, no_room_of(o), o.wants}; };
  std::int64_t most = std::min(problem.rows, kOffsets / widest(problem) / problem.V);
  most -= most % v.limits.rows_multiple;
  std::int64_t few = std::min({most, kFew, std::max(kFewest, kWhole / problem.V)});
  few -= few % v.limits.rows_multiple;
  if (problem.V > kLongest || few < kFewest)
    return not_shown(fmt::format("rows of {} columns are too long to see which block owns them", problem.V));

  Probe probe(v, launcher, problem, seconds);
  const auto ended = [&](const char* of) {
    const PartOutcome& o = probe.outcome;
    if (!o.no_room.empty()) return no_room(o);
    return not_shown(
        fmt::format("which blocks own which rows was not seen: {} of {} rows: {}", of, few, o.launch.fault));
  };
  const std::vector<std::int64_t> all = first_rows(few);
  const auto whole = probe.outputs(few, all, {}, 0);
  const auto seen = [&](LaunchOutcome o, Check check) {
    o.fault = fmt::format("a launch of {} rows of {} columns: {}", few, problem.V, o.fault);
    return BlockOwners{0, {}, FaultKind::none, o, check};
  };
  if (!whole && probe.outcome.no_room.empty() && probe.outcome.launch.ended != Ended::lost)
    return seen(probe.outcome.launch, Check::launch);
  if (!whole) return ended("a launch");
  for (std::size_t i = 0; i < whole->size(); ++i)
    if (untouched((*whole)[i]))
      return seen({fmt::format("row {} was never written", i), Ended::fault}, Check::written);
  // Each row must be written completely or not at all. Otherwise blocks share rows, or something other than a
  // block writes them.
  const auto torn = [&](const Outputs& some) -> std::optional<std::int64_t> {
    for (std::size_t i = 0; i < some.size(); ++i)
      if (some[i] != (*whole)[i] && !untouched(some[i])) return static_cast<std::int64_t>(i);
    return {};
  };
  const auto not_its_own = [&](const char* blocks, std::int64_t row) {
    return not_shown(
        fmt::format("its blocks do not own whole rows, or something else writes to all of them: after "
                    "{} alone row {} of {} is neither whole nor untouched",
                    blocks, row, few));
  };

  const auto first = probe.outputs(few, all, {0}, 1);
  if (!first) return ended("the first block of every launch");
  if (const auto row = torn(*first)) return not_its_own("the first block of every launch", *row);
  const auto none = std::find_if(first->begin(), first->end(), untouched);
  const std::int64_t per_block = none - first->begin();
  if (per_block == 0 || none == first->end())
    return not_shown(
        fmt::format("the first block of every launch writes {} of {} rows: the blocks "
                    "that own the chosen rows can not be named",
                    per_block == 0 ? "no row 0" : "all", few));

  std::vector<std::int64_t> chosen = spread(few, per_block);
  const auto some = probe.outputs(few, all, chosen, per_block);
  if (!some) return ended("some blocks");
  if (const auto row = torn(*some)) return not_its_own("some blocks", *row);
  for (const std::int64_t row : chosen)
    if (untouched((*some)[static_cast<std::size_t>(row)]))
      return not_shown(fmt::format("row {} of {} is not written by block {}, with {} rows a block before it",
                                   row, few, row / per_block, per_block));
  if (most == few) return {per_block, {}};

  // The number of rows may cap the grid, and may choose the kernel. So two looks: at what the first block
  // alone writes, and at the chosen rows.
  const auto as_whole = [&](const Outputs& rows, std::size_t i, std::int64_t row) {
    return rows[i] == (*whole)[static_cast<std::size_t>(row % kPeriod)];
  };
  const auto others = [&](std::int64_t row) {
    return not_shown(
        fmt::format("with {} rows the blocks of {} rows each do not own row {}", most, per_block, row));
  };
  std::vector<std::int64_t> edge = {0, per_block};
  if (per_block > 1) edge.insert(edge.begin() + 1, per_block - 1);
  const auto alone = probe.outputs(most, edge, {0}, per_block);
  if (!alone && !probe.outcome.no_room.empty()) return no_room(probe.outcome);
  if (!alone) return {per_block, {}};  // this many rows cannot be launched: the case itself will report it
  for (std::size_t i = 0; i < edge.size(); ++i)
    if (edge[i] < per_block ? !as_whole(*alone, i, edge[i]) : !untouched((*alone)[i])) {
      other_share = true;
      return others(edge[i]);
    }

  chosen = spread(most, per_block);
  const auto many = probe.outputs(most, chosen, chosen, per_block);
  if (!many && !probe.outcome.no_room.empty()) return no_room(probe.outcome);
  for (std::size_t i = 0; many && i < chosen.size(); ++i)
    if (!as_whole(*many, i, chosen[i])) return others(chosen[i]);
  return {per_block, {}};
}

}  // namespace

Obstacle no_room_of(const PartOutcome& o) {
  return {o.wants == FaultKind::memory ? Why::memory : Why::executor, o.no_room};
}

BlockOwners block_owners(const Variant& v, Launcher& launcher, const Problem& problem, double seconds) {
  bool other_share = false;
  const BlockOwners owners = owners_at(v, launcher, problem, seconds, other_share);
  // With the problem's full number of rows, offsets stay in range only if rows are shorter, and then blocks
  // may own other shares. This only tests whether the first block's share differs between few rows and all
  // rows. Wrong outputs in other rows are for the case itself to find. If the shorter rows show nothing, the
  // first result stands.
  const std::int64_t room = kOffsets / widest(problem) / std::max<std::int64_t>(1, problem.rows);
  const auto V = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(room)));
  if (!owners.seen.ok() || owners.rows_per_block == 0 || V >= problem.V || V < std::max(1, problem.k))
    return owners;
  const Problem shorter = problem_of(v, problem.op, problem.rows, V, problem.pick(), V);
  if (!beyond_limits(v, shorter).empty()) return owners;
  const BlockOwners there = owners_at(v, launcher, shorter, seconds, other_share);
  return other_share || !there.seen.ok() ? there : owners;
}

}  // namespace assay::conformance
