// SPDX-License-Identifier: Apache-2.0
// assay sweep split: rows whose columns are split over the GPUs of this host, beside what each GPU takes
// alone for its slice.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/say.hpp"
#include "reports/sweep/split/split_rig.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay {
namespace {

struct SplitArguments {
  FrameOptions run{.out = "out/sweep"};
  std::vector<std::string> dtypes = {"f32", "f16", "bf16"}, exchanges = {"nccl"};
  std::vector<std::int64_t> chunk_rows = {0};
  std::vector<int> depths = {3}, teams = {1};
  std::int64_t V = 262144, rows = 4000;
  int gpus = 2;
  bool accurate = false, queued = false, not_kept = false;
  std::string family = "normal_1";
  std::uint64_t seed = 1;
};

std::optional<Exchange> exchange_named(const std::string& word) {
  for (const Exchange e : kExchanges)
    if (word == name(e)) return e;
  return std::nullopt;
}

std::vector<SplitWays> ways_of(const SplitArguments& o) {
  std::vector<SplitWays> all;
  for (const std::string& e : o.exchanges)
    for (const int teams : *exchange_named(e) == Exchange::nccl ? o.teams : std::vector<int>{1})
      for (const int depth : o.depths)
        for (const std::int64_t rows : o.chunk_rows)
          all.push_back({*exchange_named(e), std::min(rows, o.rows), depth, teams, !o.queued, !o.not_kept});
  return all;
}

void require(const SplitArguments& o) {
  if (o.gpus < 1 || o.gpus > kMostParts)
    throw InputError(fmt::format("--gpus {}: must be 1 to {}", o.gpus, kMostParts));
  if (o.V < 1 || o.V > std::int64_t{1} << 25)
    throw InputError(fmt::format("--V {}: must be 1 to {}", o.V, 1 << 25));
  if (o.rows < 1) throw InputError("--rows: must be 1 or more");
  for (const int d : o.depths)
    if (d < 1) throw InputError("--depth: must be 1 or more");
  for (const int t : o.teams)
    if (t < 1 || t > 8) throw InputError("--teams: must be 1 to 8");
  for (const std::string& e : o.exchanges)
    if (!exchange_named(e))
      throw InputError("--exchange " + e + ": must be nccl, peers, held or held_in_order");
  for (const std::string& d : o.dtypes)
    if (const auto t = parse_dtype(d); !t || !can_judge(*t))
      throw InputError("--dtype " + d + ": must be f16, bf16 or f32");
  family_named(o.family);
}

std::string percent_of(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

void tell_of(const SplitRecord& r) {
  if (r.status == Status::fail) {
    tell("  {}: failed: {}\n", identity(r), r.reason);
    return;
  }
  tell("  {}: {:.1f} us, {} of one GPU's share, outputs {}\n", identity(r), *r.median_us,
       percent_of(least_share(r)),
       r.verified == Status::pass ? "right" : judged_word(r.verified) + (": " + r.verified_reason));
  for (const SplitShare& s : r.shares)
    tell("    GPU {}: {} columns from {}: {:.1f} us; alone {:.1f} us ({}), copy {:.1f} us ({})\n", s.device,
         s.columns, s.first, s.median_us.value_or(0), s.alone_us.value_or(0), percent_of(s.share_of_alone),
         s.copy_us.value_or(0), percent_of(s.share_of_copy));
}

int run_split_command(const SplitArguments& o) {
  require(o);
  std::vector<SplitWays> ways = ways_of(o);
  std::erase_if(ways, [&](const SplitWays& w) {
    const std::string why = cannot_split(o.gpus, w.exchange);
    if (!why.empty()) say("assay: sweep split: {}: {}\n", name(w.exchange), why);
    return !why.empty();
  });
  if (ways.empty()) return kEnvironment;
  RunFrame frame(o.run);
  const std::filesystem::path& folder = frame.open_folder();
  const std::filesystem::path file = folder / "split.jsonl";
  FactFile<SplitRecord> records(file);
  std::int64_t right = 0, failed = 0, all = 0;
  for (const std::string& d : o.dtypes) {
    const SplitRun run{{*parse_dtype(d), o.V, o.rows, o.gpus, !o.accurate}, ways, o.family, o.seed};
    run_split(run, [&](const SplitRecord& r) {
      tell_of(r);
      flush_output();
      records.add(r);
      ++all, right += r.verified == Status::pass && r.status != Status::fail,
          failed += r.status == Status::fail;
    });
  }
  records.compact();
  tell("{}: {} of {} splits over {} GPUs timed, their outputs right; {} failed\n",
       pass_or_fail(failed == 0 && right > 0), right, all, o.gpus, failed);
  tell("data: {}\n", file.string());
  if (!records_of_folder(folder).empty()) tell("page: {}\n", write_sweep_page(folder).string());
  return failed > 0 ? kFailed : right > 0 ? kPassed : kEnvironment;
}

}  // namespace

static void add_sweep_split(CLI::App& sweep, int& status) {
  auto o = std::make_shared<SplitArguments>();
  CLI::App* c = sweep.add_subcommand(
      "split", "rows split over several GPUs, beside what each GPU takes alone for its part of the columns");
  add_whole(*c, "--gpus", o->gpus, "number of GPUs of this host")->capture_default_str();
  add_whole(*c, "--V", o->V, "row length, over all GPUs")->capture_default_str();
  add_whole(*c, "--rows", o->rows, "rows")->capture_default_str();
  c->add_option("--dtype", o->dtypes, "f16, bf16, f32 (all)");
  c->add_option(
      "--exchange", o->exchanges,
      "how the GPUs tell each other (m, d): nccl; peers: the kernels write into each other's memory; held: so does "
      "one kernel that holds its slice on the chip; held_in_order: the same, for GPUs that start blocks in order (nccl)");
  add_whole(*c, "--chunk-rows", o->chunk_rows, "rows of a chunk (as many as half of an L2 holds)");
  add_whole(*c, "--depth", o->depths, "chunks under way at a time (3)");
  add_whole(*c, "--teams", o->teams,
            "NCCL communicators that gather in turn, so that several do at a time (1)");
  c->add_flag("--accurate", o->accurate, "exp and division as onepass, not as onepass_fast");
  c->add_flag("--queued", o->queued, "the host queues every launch; otherwise each GPU runs one graph");
  c->add_flag("--not-kept", o->not_kept, "do not ask the L2 to keep what is read twice");
  add_family(*c, o->family);
  add_seed(*c, o->seed);
  add_out(*c, o->run.out, "folder of split.jsonl; other records in it stay")->capture_default_str();
  c->callback([o, &status] { status = run_split_command(*o); });
}

const Command sweep_split_command = {
    "sweep split",
    add_sweep_split,
    {"0  measured, and the rows are right", "1  a row is wrong", kBadCallText, kNoGpuText},
    {"assay sweep split --gpus 2", "assay sweep split --gpus 4 --dtype bf16 --V 1048576 --rows 1000"}};

}  // namespace assay
