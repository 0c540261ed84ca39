// More elements than 31 or 32 bits can count. On the host executor the buffers are reserved without backing
// and only the blocks that own a few chosen rows run; elsewhere the whole problem runs where there is memory
// for it. Either way the chosen rows are judged and the rest is not looked at.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <memory>

#include "accuracy/checker.hpp"
#include "accuracy/conformance/groups.hpp"
#include "accuracy/conformance/reserved.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/isolation/candidates.hpp"

namespace assay::conformance {
namespace {

constexpr double kSeconds = 120;
constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;

/// The first and last row, and those where the number of elements before them passes 2^31 and 2^32.
std::vector<std::int64_t> chosen_rows(const ConformanceCase& c) {
  std::vector<std::int64_t> rows = {0};
  for (const std::int64_t edge : {kTwo31, 2 * kTwo31})
    for (const std::int64_t r : {edge / c.V - 1, edge / c.V, edge / c.V + 1})
      if (r > rows.back() && r < c.rows) rows.push_back(r);
  if (rows.back() != c.rows - 1) rows.push_back(c.rows - 1);
  return rows;
}

/// A problem's buffers in reserved memory.
struct BigBuffers {
  Problem p;
  Reserved logits, probs, indices, m, d, workspace;

  BigBuffers(const Variant& v, const Problem& problem)
      : p(problem),
        logits(bytes(p.V, size_of(p.in)), false),
        probs(bytes(p.out_columns(), size_of(p.out)), true),
        indices(bytes(selects(p.op) ? p.k : 0, static_cast<std::size_t>(p.index_bytes())), true),
        m(bytes(1, sizeof(float)), true),
        d(bytes(1, sizeof(float)), true),
        workspace(v.workspace_bytes ? v.workspace_bytes(p) : 0, true) {}

  bool complete() const {
    for (const Reserved* r : {&logits, &probs, &indices, &m, &d, &workspace})
      if (!r->data()) return false;
    return true;
  }
  Buffers buffers() const {
    const bool pair = p.op == Op::softmax || p.op == Op::softmax_topk || p.op == Op::normalizer;
    return {logits.data(),
            p.op == Op::normalizer ? nullptr : probs.data(),
            selects(p.op) ? indices.data() : nullptr,
            pair ? reinterpret_cast<float*>(m.data()) : nullptr,
            pair ? reinterpret_cast<float*>(d.data()) : nullptr,
            workspace.data()};
  }
  std::byte* value_row(std::int64_t row) const {
    return probs.data() + static_cast<std::size_t>(row * p.out_pitch) * size_of(p.out);
  }

 private:
  std::size_t bytes(std::int64_t columns, std::size_t element) const {
    return static_cast<std::size_t>(p.rows * columns) * element;
  }
};

/// Blocks that own the rows, if a block takes `per_block` rows in turn with the others.
executor::BlockChoice owners(std::vector<std::int64_t> rows, std::int64_t per_block) {
  return [rows = std::move(rows), per_block](std::uint64_t blocks) {
    std::vector<std::uint64_t> chosen;
    for (const std::int64_t row : rows) {
      const auto b = static_cast<std::uint64_t>(row / per_block) % blocks;
      if (std::find(chosen.begin(), chosen.end(), b) == chosen.end()) chosen.push_back(b);
    }
    return chosen;
  };
}

LaunchOutcome run_blocks(const Variant& v, const BigBuffers& big, const executor::BlockChoice& choice) {
  return in_child(
      [&] {
        executor::choose_blocks(choice);
        return call_on_host(v, big.p, big.buffers(), 0, 0).fault;
      },
      kSeconds);
}

/// A row of zeros has an output, or an m, that is not all zero bits: every op of a row of zeros and one 1
/// writes it.
bool was_written(const BigBuffers& big, std::int64_t row) {
  if (big.p.out_columns() == 0) return reinterpret_cast<const float*>(big.d.data())[row] != 0;
  const auto n = static_cast<std::size_t>(big.p.out_columns()) * size_of(big.p.out);
  const std::byte* at = big.value_row(row);
  return std::any_of(at, at + n, [](std::byte b) { return b != std::byte{0}; });
}

/// Rows of one block, seen on a small problem; then made sure of with as many rows as the case has, each of
/// two elements. 0 where the blocks of the chosen rows can not be named.
std::int64_t rows_per_block(const Bench& bench, const Variant& v, const ConformanceCase& c,
                            const std::vector<std::int64_t>& rows) {
  const auto problem = [&](std::int64_t n) {
    return problem_of(bench.variant(), c.op, n, 2, std::min(c.k, 2), 2);
  };
  BigBuffers few(v, problem(4096));
  if (!few.complete()) return 0;
  const auto one = [](std::uint64_t) { return std::vector<std::uint64_t>{0}; };
  const auto mark = [&](const BigBuffers& b, std::int64_t row) {
    store_bits(b.p.in, b.logits.data(), 2 * row, encode(b.p.in, 1));
  };
  for (std::int64_t r = 0; r < few.p.rows; ++r) mark(few, r);
  if (!run_blocks(v, few, one).ok()) return 0;
  std::int64_t n = 0;
  while (n < few.p.rows && was_written(few, n)) ++n;
  if (n == 0) return 0;
  BigBuffers many(v, problem(c.rows));
  if (!many.complete()) return 0;
  for (const std::int64_t r : rows) mark(many, r);
  if (!run_blocks(v, many, owners(rows, n)).ok()) return 0;
  for (const std::int64_t r : rows)
    if (!was_written(many, r)) return 0;
  return n;
}

Record on_executor(Bench& bench, const ConformanceCase& c, const Variant& v) {
  const std::vector<std::int64_t> rows = chosen_rows(c);
  const std::int64_t per_block = rows_per_block(bench, v, c, rows);
  if (per_block == 0)
    return bench.unsupported(c, "executor: the blocks that own the chosen rows can not be named");
  BigBuffers big(v, bench.problem(c));
  if (!big.complete()) return bench.unsupported(c, "memory: no address space for the buffers");
  ConformanceCase compact = c;
  compact.rows = static_cast<std::int64_t>(rows.size());
  const Case inputs = bench.inputs(compact);
  GuardedLaunch judged = bench.prepare(compact, inputs, {});
  const std::size_t row_bytes = static_cast<std::size_t>(c.V) * size_of(big.p.in);
  const std::size_t value_bytes = static_cast<std::size_t>(big.p.out_columns()) * size_of(big.p.out);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(big.logits.data() + static_cast<std::size_t>(rows[i]) * row_bytes,
                inputs.logits().row(static_cast<std::int64_t>(i)), row_bytes);
    std::memset(big.value_row(rows[i]), 0xff, value_bytes);
  }
  const LaunchOutcome outcome = run_blocks(v, big, owners(rows, per_block));
  bench.count(outcome);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = static_cast<std::size_t>(rows[i]);
    judged.receive(static_cast<std::int64_t>(i), big.value_row(rows[i]),
                   big.indices.data() +
                       at * static_cast<std::size_t>(big.p.k) * static_cast<std::size_t>(big.p.index_bytes()),
                   reinterpret_cast<const float*>(big.m.data()) + at,
                   reinterpret_cast<const float*>(big.d.data()) + at);
  }
  Record r = bench.judge(compact, inputs, judged, outcome);
  const Record identity = bench.blank(c);
  r.rows = c.rows;
  r.reproduce = identity.reproduce;
  return r;
}

std::int64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;)
    if (word == "MemAvailable:") {
      std::int64_t kib = 0;
      file >> kib;
      return kib * 1024;
    }
  return 0;
}

/// The whole problem, through the launcher: its inputs twice and its outputs once are in host memory.
Record through_launcher(Bench& bench, const ConformanceCase& c) {
  const Problem p = bench.problem(c);
  const std::int64_t bytes = c.rows * (2 * c.V * static_cast<std::int64_t>(size_of(p.in)) +
                                       p.out_columns() * static_cast<std::int64_t>(size_of(p.out)));
  const std::int64_t have = available_bytes();
  if (3 * bytes / 2 > have)
    return bench.unsupported(
        c, fmt::format("memory: {:.0f} GiB are needed, {:.0f} are free",
                       static_cast<double>(3 * bytes / 2) / 0x1p30, static_cast<double>(have) / 0x1p30));
  if (const std::string why = bench.outside(c, {}); !why.empty()) return bench.unsupported(c, why);
  const std::vector<std::int64_t> rows = chosen_rows(c);
  ConformanceCase compact = c;
  compact.rows = static_cast<std::int64_t>(rows.size());
  const Case inputs = bench.inputs(compact);
  Tensor all(p.in, c.rows, c.V);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(all.row(rows[i]), inputs.logits().row(static_cast<std::int64_t>(i)),
                static_cast<std::size_t>(c.V) * size_of(p.in));
  GuardedLaunch launch(bench.variant(), p, all, bench.fit(c, {}));
  const LaunchOutcome outcome = bench.run(launch);
  GuardedLaunch judged = bench.prepare(compact, inputs, {});
  for (std::size_t i = 0; i < rows.size() && outcome.ok(); ++i)
    launch.copy_row(rows[i], judged, static_cast<std::int64_t>(i));
  Record r = bench.judge(compact, inputs, judged, outcome);
  if (outcome.ok()) {
    Tally beside;
    launch.inspect(beside);
    for (const CheckResult& check : beside.results())
      if (check.failed > 0) require(r, check.name.c_str(), false, check.detail);
    settle(r);
  }
  r.rows = c.rows;
  r.reproduce = bench.blank(c).reproduce;
  return r;
}

void run_big(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const ConformanceCase& c = cases[0];
  const Variant& v = bench.variant();
  if (v.on_executor) {
    bench.emit(0, bench.unsupported(c, "executor: a plugin's launches run every block"));
    return;
  }
  if (!on_host(v.backend)) {
    bench.emit(0, through_launcher(bench, c));
    return;
  }
  // The launcher's worker has buffers of its own; here the kernel must come to these.
  Variant here = v;
  if (!here.run)
    if (const Variant* known = find_candidate(v.key())) here.run = known->run;
  here.launcher = nullptr;
  if (!here.run) {
    bench.emit(0, bench.unsupported(c, "executor: the kernel is not known to this process"));
    return;
  }
  bench.emit(0, on_executor(bench, c, here));
}

}  // namespace

std::vector<Unit> plan_big(const Planning& p) {
  std::vector<Unit> units;
  const bool host = on_host(p.variant.backend);
  // Off the executor every element is held and copied: not a matter of seconds.
  if (!host && p.extent == Extent::quick && !p.named) return units;
  for (const std::int64_t V : sizes_of(p, {1024})) {
    if (V < 2) continue;
    std::vector<std::int64_t> counts = {kTwo31 / V + 3};
    // On the executor many rows cost no more than a few; elsewhere they cost the memory.
    if (host || p.extent == Extent::full) counts.push_back(2 * kTwo31 / V + 3);
    for (const std::int64_t rows : rows_of(p, counts))
      for (const std::string& family : families_of(p, {"normal_1"}))
        units.push_back({{{family, V, rows, op_of(p), k_of(p)}}, run_big, 1e9, true});
  }
  return units;
}

}  // namespace assay::conformance
