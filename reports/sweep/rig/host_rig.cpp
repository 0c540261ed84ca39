// SPDX-License-Identifier: Apache-2.0
// The rig of the host executor, which runs kernels some thousand times slower than a GPU. It shows that the
// engine works and what a kernel costs on the executor, never the speed on a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/candidate.hpp"
#include "reports/build_info.hpp"
#include "reports/data/environment.hpp"
#include "reports/sweep/rig/rig.hpp"

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
    logits_ = Image(room_.logits, 0, 256);
    probs_ = room_.probs > 0 ? Image(room_.probs, 0, 256) : Image();
    indices_ = room_.indices > 0 ? Image(room_.indices, 0, 256) : Image();
    workspace_ = room_.workspace > 0 ? Image(room_.workspace, 0, 256) : Image();
    for (std::int64_t r = 0; r < problem.rows; ++r)
      std::memcpy(logits_.payload() + static_cast<std::size_t>(r) * row_bytes(), tile.row(r % tile.rows),
                  row_bytes());
    const auto at = [](const Image& i) { return i.empty() ? nullptr : i.payload(); };
    const Buffers b{at(logits_), at(probs_), at(indices_), nullptr, nullptr, at(workspace_)};
    work_ = [this, b] {
      const LaunchOutcome outcome = call_on_host(*variant_, problem_, b, 0, 0);
      if (!outcome.ok()) throw std::runtime_error(outcome.fault);
    };
  }
  bool prepare_copy(std::size_t bytes, CopyBy by) override {
    if (by != CopyBy::memcpy) return false;
    const std::size_t half = std::max<std::size_t>(1, bytes / 2);
    memory_.assign(2 * half, std::byte{1});
    work_ = [this, half] { std::memcpy(memory_.data() + half, memory_.data(), half); };
    return true;
  }
  bool prepare_read(std::size_t bytes) override {
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
    const auto begin = Clock::now();
    run_alone(launches);
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  void run_alone(std::int64_t launches) override {
    for (std::int64_t i = 0; i < launches; ++i) work_();
  }

  void poison() override {
    for (Image* i : {&probs_, &indices_})
      if (!i->empty()) std::memset(i->payload(), 0xff, i->payload_bytes());
  }
  void fetch(std::int64_t row, void* values, void* indices) override {
    const auto copy_row = [row](void* to, const Image& from, std::size_t bytes) {
      if (to && !from.empty()) std::memcpy(to, from.payload() + static_cast<std::size_t>(row) * bytes, bytes);
    };
    copy_row(values, probs_, static_cast<std::size_t>(problem_.out_columns()) * size_of(problem_.out));
    copy_row(indices, indices_, static_cast<std::size_t>(problem_.k * problem_.index_bytes()));
  }
  FastJudgement judge(double, std::int64_t& open_rows) override {
    open_rows = 0;
    return judge_fast(variant_->claim, variant_->backend,
                      {problem_.in, problem_.out, problem_.rows, problem_.V, logits_.payload(), problem_.V,
                       probs_.payload(), problem_.V});
  }
  bool logits_intact() override {
    for (std::int64_t r = 0; r < problem_.rows; ++r)
      if (std::memcmp(logits_.payload() + static_cast<std::size_t>(r) * row_bytes(),
                      tile_->row(r % tile_->rows), row_bytes()) != 0)
        return false;
    return true;
  }

  bool remember() override {
    remembered_.clear();
    for (const Image* i : {&probs_, &indices_})
      if (!i->empty()) remembered_.insert(remembered_.end(), i->payload(), i->payload() + i->payload_bytes());
    return true;
  }
  bool as_remembered() override {
    std::size_t at = 0;
    for (const Image* i : {&probs_, &indices_}) {
      if (i->empty()) continue;
      if (at + i->payload_bytes() > remembered_.size() ||
          std::memcmp(i->payload(), remembered_.data() + at, i->payload_bytes()) != 0)
        return false;
      at += i->payload_bytes();
    }
    return at == remembered_.size();
  }

 private:
  std::size_t row_bytes() const { return static_cast<std::size_t>(problem_.V) * size_of(problem_.in); }

  Machine machine_;
  const Variant* variant_ = nullptr;
  Problem problem_;
  Room room_;
  const Tensor* tile_ = nullptr;
  Image logits_, probs_, indices_, workspace_;
  std::vector<std::byte> memory_, remembered_;
  volatile std::uint64_t sink_ = 0;
  std::function<void()> work_;
};

}  // namespace

std::unique_ptr<Rig> make_host_rig() { return std::make_unique<HostRig>(); }

}  // namespace assay
