// assay sweep oracle: how fast outputs are judged here, by MPFR and by the fast tier.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "accuracy/oracle_speed.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/inputs.hpp"
#include "reports/commands.hpp"
#include "reports/files.hpp"
#include "reports/oracle_speed_json.hpp"
#include "reports/report.hpp"

namespace assay {
namespace {

struct Options {
  std::vector<std::string> keys = {"safe_block/f32", "safe_block/f16", "safe_block/bf16", "online_block/f32"};
  std::string family = "normal_1";
  std::int64_t V = 32768;
  std::int64_t rows = 0;
  std::string out;
  std::string require;
};

/// Rows that exceed a GPU's cache several times over, and that a host makes in seconds.
std::int64_t default_rows(std::int64_t V) { return std::max<std::int64_t>(1, (std::int64_t{1} << 22) / V); }
constexpr std::int64_t kDeviceElements = std::int64_t{1} << 28;

int run(const Options& o) {
  const std::string no_gpu = unavailable_reason(Backend::cuda);
  if (!o.require.empty() && o.require != "cuda")
    throw InputError("--require " + o.require + ": must be cuda");
  if (!o.require.empty() && !no_gpu.empty()) {
    fmt::print(stderr, "assay: --require cuda: {}\n", no_gpu);
    return kEnvironment;
  }
  const Family* family = find_family(o.family);
  if (!family) throw InputError("--family " + o.family + ": unknown; assay list --families names them all");
  if (o.V < 1 || o.V > std::int64_t{1} << 24)
    throw InputError(fmt::format("--V {}: must be 1 to 16777216", o.V));
  if (o.rows < 0 || o.rows > 1 << 20)
    throw InputError(fmt::format("--rows {}: must be 1 to 1048576", o.rows));

  std::vector<OracleSpeed> all;
  for (const std::string& key : o.keys) {
    const std::string full =
        key.find('@') != std::string::npos ? key : key + (no_gpu.empty() ? "@cuda" : "@host");
    const Variant* v = find_variant(full);
    if (!v) throw InputError("--key " + key + ": no such key; assay list names them all");
    if (const std::string why = unavailable_reason(v->backend); !why.empty())
      throw InputError("--key " + full + ": " + why);
    if (v->op != Op::softmax) throw InputError("--key " + full + ": not a softmax");
    if (const std::string why = fast_judge_unsupported(v->claim, v->dtype, v->dtype); !why.empty())
      throw InputError("--key " + full + ": the fast judge does not serve this claim: " + why);
    if (!applies(*family, v->dtype, o.V))
      throw InputError(fmt::format("--family {}: no rows of V = {}", o.family, o.V));
    const std::int64_t rows = o.rows > 0 ? o.rows : default_rows(o.V);
    const Tensor logits = make_input(*family, v->dtype, o.V, rows, 1);
    const auto copies = static_cast<int>(std::max<std::int64_t>(1, kDeviceElements / (rows * o.V)));
    for (OracleSpeed& s : measure_oracle(*v, logits, copies)) all.push_back(std::move(s));
  }

  std::int64_t failed = 0, judged = 0;
  for (const OracleSpeed& s : all) {
    failed += s.judgement.failed;
    judged += s.judgement.elements;
  }
  const bool passed = failed == 0 && judged > 0;
  fmt::print("{}: {} elements judged, {} failed\n", passed ? "PASS" : "FAIL", judged, failed);
  if (!no_gpu.empty()) fmt::print("GPU: not measured: {}\n", no_gpu);
  fmt::print("family {}; from outputs in memory to the last verdict, escalation included\n", o.family);
  fmt::print("{:<24} {:<5} {:<9} {:>7} {:>8} {:>14} {:>11} {:>9} {:>10}\n", "outputs of", "tier", "on",
             "rows", "V", "elements/s", "escalated", "failed", "x MPFR");
  double mpfr = 0;
  for (const OracleSpeed& s : all) {
    if (s.tier == "mpfr") mpfr = s.elements_per_second();
    fmt::print("{:<24} {:<5} {:<9} {:>7} {:>8} {:>14.4g} {:>11.3g} {:>9} {:>10.4g}\n", s.key, s.tier, s.where,
               s.rows, s.V, s.elements_per_second(), s.escalated(), s.judgement.failed,
               s.elements_per_second() / mpfr);
  }
  for (const OracleSpeed& s : all)
    if (!s.judgement.first_failure.empty())
      fmt::print("  {} by {} on {}: {}\n", s.key, s.tier, s.where, s.judgement.first_failure);
  if (!o.out.empty()) {
    prepare_folder(o.out);
    write_files(
        {{std::filesystem::path(o.out) / "oracle.json", oracle_speed_json(all, o.family, environment())}});
    fmt::print("data: {}\n", (std::filesystem::path(o.out) / "oracle.json").string());
  }
  return passed ? kPassed : kFailed;
}

}  // namespace

void add_sweep_command(CLI::App& app, int& status) {
  CLI::App* sweep = app.add_subcommand("sweep", "performance: oracle");
  sweep->require_subcommand(1);
  CLI::App* c = sweep->add_subcommand("oracle", "elements judged a second, by MPFR and by the fast tier");
  auto o = std::make_shared<Options>();
  c->add_option(
       "--key", o->keys,
       "softmax keys whose outputs are judged, variant/dtype (on the GPU if there is one) or with @backend")
      ->capture_default_str();
  c->add_option("--family", o->family, "input family")->capture_default_str();
  c->add_option("--V", o->V, "row length")->capture_default_str();
  c->add_option("--rows", o->rows,
                "rows made on the host; repeated on the GPU up to 2^28 elements (2^22 elements)");
  c->add_option("--out", o->out, "folder for oracle.json");
  c->add_option("--require", o->require, "cuda: exit 3 at once where no GPU can run");
  c->callback([o, &status] { status = run(*o); });
}

}  // namespace assay
