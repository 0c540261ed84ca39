// SPDX-License-Identifier: Apache-2.0
// assay sweep accesses: what the kernels really load and store. On the host executor the counts are exact. On
// a GPU they are hardware counters of ncu, which is started around `--launch` and whose table is read back
// (reports/publish/measure_accesses.sh does both).
#include "reports/sweep/accesses.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "kernels/counted/counted.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/say.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/subjects.hpp"

namespace assay {
namespace {

struct AccessesArguments {
  FrameOptions run{.out = "out/sweep"};
  std::vector<std::string> keys;
  std::vector<std::int64_t> V = {1000, 4096, 32768};
  std::int64_t rows = 4000, host_rows = 2;
  std::string ncu;
  bool launch = false, metrics = false;
  int device = 0;
};

std::vector<AccessPoint> device_points(const AccessesArguments& o) {
  return access_points(Backend::cuda, o.keys, o.V, o.rows);
}

/// Launches every point of the GPU's table once, each between its marks.
int launch_points(const AccessesArguments& o) {
  choose_device(o.device);
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) {
    say("assay: sweep accesses --launch: {}\n", why);
    return kEnvironment;
  }
#if defined(ASSAY_WITH_CUDA)
  SweepInputs inputs("normal_1", 1);
  const auto rig = make_device_rig();
  for (const AccessPoint& a : device_points(o)) {
    const Variant& v = find_subject(a.key)->variant;
    rig->prepare(v, problem_of_point(v, a), inputs.tile(v.dtype, a.V, a.rows));
    mark_point_begins();
    rig->run_alone(1);
    mark_point_ends();
    say("{} V = {}\n", a.key, a.V);
  }
#endif
  return kPassed;
}

int run_accesses_command(const AccessesArguments& o) {
  if (o.metrics) {
    tell("{}\n", ncu_metrics());
    return kPassed;
  }
  if (o.launch) return launch_points(o);
  RunFrame run(o.run);
  run.open_folder();
  std::vector<AccessRecord> fresh;
  if (!o.ncu.empty()) {
    std::string gpu;
    for (const auto& [label, value] : describe_device())
      if (label == "GPU") gpu = value;
    fresh = read_ncu(o.ncu, device_points(o), gpu);
  } else {
    if (counted_variants().empty()) {
      say("assay: sweep accesses: this build holds no counted variants: configure it with -DASSAY_ALL_HOST_BUILDS=ON\n");
      return kEnvironment;
    }
    fresh = count_on_host(access_points(Backend::host, o.keys, o.V, o.host_rows));
  }
  const std::filesystem::path file = run / "accesses.jsonl";
  FactFile<AccessRecord> all(file);
  for (const AccessRecord& r : fresh) all.add(r);
  all.compact();

  std::vector<std::string> beyond;
  for (const AccessRecord& r : fresh) {
    const double slack = 64.0 / static_cast<double>(r.V) + 0.02;  // (m, d), lists of k
    if (r.loads && (*r.loads > *r.claimed_loads + slack || *r.stores > *r.claimed_stores + slack))
      beyond.push_back(fmt::format("{} V = {}: {:.3f} + {:.3f}, claimed {} + {}", r.key, r.V, *r.loads,
                                   *r.stores, *r.claimed_loads, *r.claimed_stores));
  }
  // A claim may be the published source's own count. If the counters contradict it, that is a result, not a
  // failure.
  tell("{}: {} points measured, {} of them beyond the claimed accesses\n",
       fresh.empty() ? name(Verdict::fail) : "MEASURED", fresh.size(), beyond.size());
  for (const std::string& line : beyond) tell("  {}\n", line);
  tell("{:<36} {:>8} {:>13} {:>9} {:>9} {:>9} {:>9}\n", "key", "V", "claim", "loads", "stores", "DRAM in",
       "DRAM out");
  const auto number = [](const std::optional<double>& v) {
    return v ? fmt::format("{:.3f}", *v) : std::string("-");
  };
  for (const AccessRecord& r : fresh)
    tell("{:<36} {:>8} {:>13} {:>9} {:>9} {:>9} {:>9}\n", r.key, r.V,
         fmt::format("{} + {}", r.claimed_loads.value_or(0), r.claimed_stores.value_or(0)), number(r.loads),
         number(r.stores), number(r.dram_read), number(r.dram_write));
  tell("data: {}\n", file.string());
  return fresh.empty() ? kFailed : kPassed;
}

}  // namespace

static void add_sweep_accesses(CLI::App& sweep, int& status) {
  auto o = std::make_shared<AccessesArguments>();
  CLI::App* c =
      sweep.add_subcommand("accesses", "measure the elements loaded and stored per element of the row");
  c->add_option("--key", o->keys, "keys; * and ? match (every key of the backend)");
  add_whole(*c, "--V", o->V, "row lengths")->capture_default_str();
  add_whole(*c, "--rows", o->rows, "rows of a launch on the GPU")->capture_default_str();
  add_out(*c, o->run.out, "folder of accesses.jsonl; other records in it stay")->capture_default_str();
  c->add_option("--ncu", o->ncu,
                "read the hardware counters of a --launch from ncu's table "
                "(the same --key, --V, --rows)");
  c->add_flag("--launch", o->launch, "launch every point once, to run under ncu");
  c->add_flag("--metrics", o->metrics, "print the metrics for ncu's option --metrics");
  add_device(*c, o->device);
  c->callback([o, &status] { status = run_accesses_command(*o); });
}

const Command sweep_accesses_command = {
    "sweep accesses",
    add_sweep_accesses,
    {"0  measured", "1  a measurement failed", kBadCallText, kNoGpuText},
    {"assay sweep accesses --key safe_block/f32@host --V 1000", "assay sweep accesses --metrics"}};

}  // namespace assay
