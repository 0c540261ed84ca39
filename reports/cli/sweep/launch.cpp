// SPDX-License-Identifier: Apache-2.0
// assay sweep launch: launches one kernel a given number of times on cold buffers, and nothing else. For
// profilers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "kernels/key_hint.hpp"
#include "reference/error.hpp"
#include "reference/k_range.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/say.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/subjects.hpp"

namespace assay {
namespace {

struct LaunchArguments {
  std::string key, family = "normal_1";
  std::int64_t V = 0, rows = 0, launches = 1;
  AskedPick pick;
  int device = 0;
  std::uint64_t seed = 1;
};

int run_launch_command(const LaunchArguments& o) {
  choose_device(o.device);
  const Subject* const subject = find_subject(o.key);
  if (!subject)
    throw InputError("--key " + o.key + ": no such key; assay list names them all" + did_you_mean_key(o.key));
  const Variant& v = subject->variant;
  const std::string cannot = subject->missing.empty() ? unavailable_reason(v.backend) : subject->missing;
  if (!cannot.empty()) {
    say("assay: {}: {}\n", o.key, cannot);
    return kEnvironment;
  }
  if (o.V < 1 || o.rows < 1 || o.launches < 1) throw InputError("--V, --rows, --launches: must be 1 or more");
  const Pick pick = o.pick.of(v.op, usual_pick(v.op));
  if (pick.k > v.max_k && selects(v.op))
    throw InputError(fmt::format("--k {}: must be 1 to {}", pick.k, v.max_k));
  const Problem p = problem_of(v, v.op, o.rows, o.V, pick, o.V);
  if (const std::string why = beyond_limits(v, p); !why.empty()) throw InputError(o.key + ": " + why);
  SweepInputs inputs(o.family, o.seed);
  const auto rig = v.backend == Backend::cuda ? make_device_rig() : make_host_rig();
  rig->prepare(v, p, inputs.tile(v.dtype, o.V, o.rows));
  rig->poison();
  rig->run_alone(o.launches);
  tell("{} V={} rows={}{}: {} launches, {}\n", o.key, o.V, o.rows,
       selects(v.op)       ? fmt::format(" k={}", p.k)
       : keeps_a_set(v.op) ? " " + words_of(v.op, pick)
                           : std::string(),
       o.launches, rig->cold());
  return kPassed;
}

}  // namespace

static void add_sweep_launch(CLI::App& sweep, int& status) {
  auto o = std::make_shared<LaunchArguments>();
  CLI::App* c = sweep.add_subcommand(
      "launch", "launch one kernel several times on cold buffers, and no other kernel, for a profiler");
  c->add_option("--key", o->key, "variant/dtype@backend")->required();
  add_whole(*c, "--V", o->V, "row length")->required();
  add_whole(*c, "--rows", o->rows, "rows")->required();
  add_pick(*c, o->pick, "k of top-k (5)");
  add_whole(*c, "--launches", o->launches, "number of launches")->capture_default_str();
  add_family(*c, o->family);
  add_seed(*c, o->seed);
  add_device(*c, o->device);
  c->callback([o, &status] { status = run_launch_command(*o); });
}

const Command sweep_launch_command = {
    "sweep launch",
    add_sweep_launch,
    {"0  launched", kBadCallText, kNoGpuText},
    {"assay sweep launch --key safe_block/f32@host --V 1000 --rows 4",
     "assay sweep launch --key online_block/f16@cuda --V 32768 --rows 4000 --launches 3"}};

}  // namespace assay
