// SPDX-License-Identifier: Apache-2.0
// The rig of the host executor, which runs kernels some thousand times slower than a GPU. It shows that the
// engine works and what a kernel costs on the executor, never the speed on a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/candidate.hpp"
#include "reports/build_info.hpp"
#include "reports/data/environment.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/rig/worker_launches.hpp"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

class HostRig final : public Rig {
 public:
  HostRig() {
    for (const auto& [label, value] : environment())
      if (label == "CPU") machine_.name = value;
    machine_.compiler = build_info::compiler;
    machine_.flags = build_info::flags;
    machine_.memory_bytes =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  }
  const Machine& machine() const override { return machine_; }

  void prepare(const Variant& variant, const Problem& problem, const Tensor& tile) override {
    variant_ = &variant;
    problem_ = problem;
    room_ = room_for(variant, problem);
    if (room_.all() > machine_.memory_bytes / 2)
      throw SweepUnsupported(fmt::format("needs {:.1f} GB, more than half of this machine's memory",
                                         static_cast<double>(room_.all()) / 1e9));
    tile_ = &tile;
    in_worker_ = variant.launcher != nullptr;
    if (in_worker_) worker_.choose(variant);
    worker_.forget();
    buffers_ = Image(room_.all(), 0, 256);
    ++generation_;
    logits_ = buffers_.payload();
    outputs_ = logits_ + room_.logits;
    turned_ = {problem.rows, std::max<std::int64_t>(1, std::min(tile.rows, problem.rows)), 0};
    put_logits();
    const auto at = [](std::size_t bytes, std::byte* place) { return bytes > 0 ? place : nullptr; };
    const Buffers b{logits_,
                    at(room_.probs, outputs_),
                    at(room_.indices, outputs_ + room_.probs),
                    nullptr,
                    nullptr,
                    at(room_.workspace, outputs_ + room_.outputs())};
    work_ = [this, b] {
      const LaunchOutcome outcome = call_on_host(*variant_, problem_, b, 0, 0);
      if (!outcome.ok()) throw std::runtime_error(outcome.fault);
    };
  }
  bool prepare_copy(std::size_t bytes, CopyBy by) override {
    if (by != CopyBy::memcpy) return false;
    in_worker_ = false;
    const std::size_t half = std::max<std::size_t>(1, bytes / 2);
    memory_.assign(2 * half, std::byte{1});
    work_ = [this, half] { std::memcpy(memory_.data() + half, memory_.data(), half); };
    return true;
  }
  bool prepare_read(std::size_t bytes, bool chained) override {
    if (chained) return false;
    in_worker_ = false;
    memory_.assign((bytes + 7) / 8 * 8, std::byte{1});
    work_ = [this] {
      std::uint64_t all = 0, word = 0;
      for (std::size_t i = 0; i < memory_.size(); i += sizeof word) {
        std::memcpy(&word, memory_.data() + i, sizeof word);
        all ^= word;
      }
      sink_ = all;
    };
    return true;
  }
  bool prepare_empty() override { return false; }

  std::string cold() const override {
    return "one set of buffers; caches are as the launch before left them";
  }
  std::int64_t most_launches() const override { return 64; }
  double run_us(std::int64_t launches) override {
    if (in_worker_) {
      last_ = worker_.run(*variant_, problem_,
                          {buffers_.payload(), room_.all(), generation_, 1, room_.logits, room_.probs,
                           room_.indices, room_.workspace},
                          {0, launches});
      return last_.us;
    }
    const auto begin = Clock::now();
    run_alone(launches);
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  void run_alone(std::int64_t launches) override {
    for (std::int64_t i = 0; i < launches; ++i) work_();
  }

  bool renews() const override { return in_worker_; }
  void renew(std::uint64_t draw) override {
    if (!in_worker_) return;
    std::mt19937_64 random(draw);
    const std::int64_t unit = Turned::unit(turned_.distinct);
    if (turned_.distinct > 1) {
      turned_.turn =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(turned_.distinct / unit)) * unit;
      put_logits();
    }
    const std::uint64_t kind = random() % 4;
    // Of one row the older results are right.
    if (kind == 0 && turned_.distinct > 1) return;
    const int byte = kind == 1 ? 0xff : kind == 2 ? 0 : 0x30 + static_cast<int>(random() % 12);
    std::memset(outputs_, byte, room_.outputs());
  }
  std::optional<TwoClocks> clocks() const override {
    if (!in_worker_ || !last_.processor_us) return std::nullopt;
    return TwoClocks{last_.us, last_.waited_us, *last_.processor_us};
  }

  void poison() override { std::memset(outputs_, 0xff, room_.outputs()); }
  void fetch(std::int64_t row, void* values, void* indices) override {
    const std::int64_t place = turned_.place_of(row);
    const auto copy_row = [place](void* to, const std::byte* from, std::size_t bytes) {
      if (to) std::memcpy(to, from + static_cast<std::size_t>(place) * bytes, bytes);
    };
    if (room_.probs > 0) copy_row(values, outputs_, value_bytes());
    if (room_.indices > 0) copy_row(indices, outputs_ + room_.probs, index_bytes());
  }
  FastJudgement judge(double, std::int64_t& open_rows) override {
    open_rows = 0;
    return judge_fast(
        variant_->claim, variant_->backend,
        {problem_.in, problem_.out, problem_.rows, problem_.V, logits_, problem_.V, outputs_, problem_.V});
  }
  bool logits_intact() override {
    for (std::int64_t r = 0; r < problem_.rows; ++r)
      if (std::memcmp(logits_ + static_cast<std::size_t>(r) * row_bytes(), tile_->row(turned_.held_by(r)),
                      row_bytes()) != 0)
        return false;
    return true;
  }

  bool remember() override {
    remembered_.assign(outputs_, outputs_ + room_.outputs());
    remembered_turn_ = turned_.turn;
    return true;
  }
  bool as_remembered() override {
    if (remembered_.size() != room_.outputs()) return false;
    const std::int64_t distinct = turned_.distinct, turned = turned_.turn - remembered_turn_ + distinct;
    for (std::int64_t r = 0; r < problem_.rows; ++r) {
      // Rows that were not turned need not be equal to those that repeat them.
      const auto now = static_cast<std::size_t>(r),
                 was = static_cast<std::size_t>(turned == distinct ? r : (r + turned) % distinct);
      const auto same = [&](std::size_t at, std::size_t row) {
        return std::memcmp(outputs_ + at + now * row, remembered_.data() + at + was * row, row) == 0;
      };
      if (room_.probs > 0 && !same(0, value_bytes())) return false;
      if (room_.indices > 0 && !same(room_.probs, index_bytes())) return false;
    }
    return true;
  }

 private:
  std::size_t row_bytes() const { return static_cast<std::size_t>(problem_.V) * size_of(problem_.in); }
  std::size_t value_bytes() const {
    return static_cast<std::size_t>(problem_.out_columns()) * size_of(problem_.out);
  }
  std::size_t index_bytes() const { return static_cast<std::size_t>(problem_.k * problem_.index_bytes()); }

  void put_logits() {
    for (std::int64_t r = 0; r < problem_.rows; ++r)
      std::memcpy(logits_ + static_cast<std::size_t>(r) * row_bytes(), tile_->row(turned_.held_by(r)),
                  row_bytes());
  }

  Machine machine_;
  const Variant* variant_ = nullptr;
  Problem problem_;
  Room room_;
  const Tensor* tile_ = nullptr;
  Image buffers_;  // logits, values, indices, workspace, as a launcher that times is given them
  std::byte *logits_ = nullptr, *outputs_ = nullptr;
  int generation_ = 0;
  std::vector<std::byte> memory_, remembered_;
  Turned turned_;
  std::int64_t remembered_turn_ = 0;
  TimedOutcome last_;  // of the worker
  volatile std::uint64_t sink_ = 0;
  std::function<void()> work_;
  WorkerLaunches worker_;
  bool in_worker_ = false;
};

}  // namespace

std::unique_ptr<Rig> make_host_rig() { return std::make_unique<HostRig>(); }

// The memory that a launch needs, and the bytes that it must move, on any machine.

namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

Room room_for(const Variant& variant, const Problem& p) {
  Room r;
  r.logits = rounded(count(p.rows * p.V) * size_of(p.in));
  r.probs = rounded(count(p.rows * p.out_columns()) * size_of(p.out));
  if (selects(p.op)) r.indices = rounded(count(p.rows * p.k * p.index_bytes()));
  if (variant.workspace_bytes) r.workspace = rounded(variant.workspace_bytes(p));
  return r;
}

std::int64_t compulsory_bytes(const Problem& p) {
  const auto in = static_cast<std::int64_t>(size_of(p.in)), out = static_cast<std::int64_t>(size_of(p.out));
  return p.rows * (p.V * in + p.out_columns() * out + (selects(p.op) ? p.k * p.index_bytes() : 0));
}

}  // namespace assay
