// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/worker.hpp"

#include <cstdio>
#include <string>

#include "kernels/candidate.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/isolation/candidates.hpp"
#include "kernels/isolation/process/spawn.hpp"
#include "kernels/isolation/worker/loop.hpp"
#include "kernels/isolation/worker/needed_runtime.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"
#include "kernels/isolation/worker/warden.hpp"

namespace assay {
namespace isolation {
namespace {

/// The registered kernels with a key's name.
class RegisteredKernels : public WorkerKernels {
 public:
  explicit RegisteredKernels(std::vector<const Variant*> all) : all_(std::move(all)) {}
  std::size_t size() const override { return all_.size(); }
  /// Never called: the supervisor has the same kernels linked in.
  Described describe(std::size_t) const override { return {}; }
  std::uint64_t workspace_bytes(std::size_t entry, const Problem& problem, int) const override {
    const Variant& v = *all_[entry];
    return v.workspace_bytes ? v.workspace_bytes(problem) : 0;
  }
  Said run(const Launch& r, int, const std::array<void*, kBuffers>& at, void* stream, int) const override {
    const Variant& v = *all_[r.entry];
    const Buffers b{at[0],
                    at[1],
                    at[2],
                    static_cast<float*>(at[3]),
                    static_cast<float*>(at[4]),
                    at[5],
                    at[6],
                    at[7],
                    at[8],
                    static_cast<const float*>(at[9]),
                    at[10]};
    if (r.on_device) {
      v.run(r.problem, b, Stream{stream, r.max_blocks});
      return {};
    }
    const LaunchOutcome outcome = call_on_host(v, r.problem, b, r.schedule, r.max_blocks);
    return {outcome.fault, outcome.kind};
  }
  bool foreign() const override { return false; }
  bool chooses() const override { return true; }
  bool take_turns(void (*turn)(int)) const override {
    executor::take_turns(turn);
    return true;
  }
  void prepare(const Launch& r) const override {
    executor::choose_blocks(
        executor::owners_of({r.chosen.rows, r.chosen.rows + r.chosen.count}, r.chosen.per_block));
  }
  std::uint64_t dispatch() const override { return executor::dispatch(); }

 private:
  std::vector<const Variant*> all_;
};

std::unique_ptr<WorkerKernels> open_kernels(const Load& request, Loaded& loaded) {
  const std::string name = request.name.get();
  if (request.plugin) {
    if (const std::string runtime = missing_runtime(name); !runtime.empty()) {
      loaded.runtime.set(runtime);
      return nullptr;
    }
    auto library = std::make_unique<PluginLibrary>();
    loaded.error.set(library->open(name));
    return library;
  }
  std::vector<const Variant*> all = same_kernel(name);
  if (all.empty()) loaded.error.set(name + ": this worker has no such key");
  return std::make_unique<RegisteredKernels>(std::move(all));
}

}  // namespace
}  // namespace isolation

bool is_worker_call(int argc, const char* const* argv) {
  isolation::has_worker_verb = true;
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

int run_worker(int argc, const char* const* argv) {
  using namespace isolation;
  if (argc > 2 && std::string_view(argv[2]) == "warden") {
    guard_worker(argv + 3);
    return serve(open_kernels);
  }
  if (argc > 2 && std::string_view(argv[2]) == "program") become_program(argv + 3);
  if (argc != 3 || std::string(argv[2]) != std::to_string(kSocket)) {
    std::fprintf(stderr, "assay: worker: is started by assay itself\n");
    return 2;
  }
  return serve(open_kernels);
}

}  // namespace assay
