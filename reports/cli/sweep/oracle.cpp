// SPDX-License-Identifier: Apache-2.0
// assay sweep oracle: measures how fast outputs are judged here, by MPFR and by the fast tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "accuracy/fast_judge/oracle_speed.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/outcome.hpp"
#include "reports/data/say.hpp"
#include "reports/runs/oracle_speed_data.hpp"

namespace assay {
namespace {

struct OracleSweepArguments {
  FrameOptions run;
  std::vector<std::string> keys = {"safe_block/f32", "safe_block/f16", "safe_block/bf16", "online_block/f32"};
  std::string family = "normal_1";
  std::int64_t V = 32768;
  std::int64_t rows = 0;
  std::string require;
};

int run_oracle_command(const OracleSweepArguments& o) {
  const std::string no_gpu = unavailable_reason(Backend::cuda);
  choose_machine(o.require, 0);
  RunFrame run(o.run);
  if (!o.run.out.empty()) run.open_folder();
  const std::vector<OracleSpeed> all = measure_oracle_speed(o.keys, o.family, o.V, o.rows);

  // The outputs of each key count once, for the tier that judged most of them.
  std::map<std::string, std::int64_t> judged_of;
  std::int64_t failed = 0, judged = 0;
  for (const OracleSpeed& s : all) {
    failed += s.judgement.failed;
    judged_of[s.key] = std::max(judged_of[s.key], s.judgement.elements);
  }
  for (const auto& [key, elements] : judged_of) judged += elements;
  if (judged == 0) throw InputError("--family " + o.family + ": its rows have no bound to be judged by");
  const bool passed = failed == 0;
  tell("{}: {} elements of {} keys judged, {} comparisons failed\n", pass_or_fail(passed), judged,
       judged_of.size(), failed);
  if (!no_gpu.empty()) tell("GPU: not measured: {}\n", no_gpu);
  tell("family {}; from outputs in memory to the last verdict, escalation included\n", o.family);
  tell("{:<24} {:<5} {:<9} {:>7} {:>8} {:>14} {:>11} {:>9} {:>10}\n", "outputs of", "tier", "on", "rows", "V",
       "elements/s", "escalated", "failed", "x MPFR");
  double mpfr = 0;
  for (const OracleSpeed& s : all) {
    if (s.tier == "mpfr") mpfr = s.elements_per_second();
    tell("{:<24} {:<5} {:<9} {:>7} {:>8} {:>14.4g} {:>11.3g} {:>9} {:>10.4g}\n", s.key, s.tier, s.where,
         s.rows, s.V, s.elements_per_second(), s.escalated(), s.judgement.failed,
         s.elements_per_second() / mpfr);
  }
  for (const OracleSpeed& s : all)
    if (!s.judgement.first_failure.empty())
      tell("  {} by {} on {}: {}\n", s.key, s.tier, s.where, s.judgement.first_failure);
  const int status = passed ? kPassed : kFailed;
  if (!o.run.out.empty()) {
    run.finish({{"oracle.json", oracle_speed_json(all, o.family, environment())}}, std::ssize(all), status);
    tell("data: {}\n", (run / "oracle.json").string());
  }
  return status;
}

}  // namespace

static void add_sweep_oracle(CLI::App& sweep, int& status) {
  CLI::App* c = sweep.add_subcommand("oracle",
                                     "measure the elements judged per second, by MPFR and by the "
                                     "fast tier");
  auto o = std::make_shared<OracleSweepArguments>();
  c->add_option(
       "--key", o->keys,
       "softmax keys whose outputs are judged, variant/dtype (on the GPU if there is one) or with @backend")
      ->capture_default_str();
  add_family(*c, o->family);
  add_whole(*c, "--V", o->V, "row length")->capture_default_str();
  add_whole(*c, "--rows", o->rows,
            "rows made on the host; repeated on the GPU up to 2^28 elements (2^22 elements)");
  add_out(*c, o->run.out, "folder for oracle.json");
  add_require(*c, o->require);
  c->callback([o, &status] { status = run_oracle_command(*o); });
}

const Command sweep_oracle_command = {
    "sweep oracle",
    add_sweep_oracle,
    {"0  measured", "1  a comparison failed while it was measured", kBadCallText, kNoGpuText},
    {"assay sweep oracle --key safe_block/f32@host --V 1000 --rows 2",
     "assay sweep oracle --out out/oracle"}};

}  // namespace assay
