// SPDX-License-Identifier: Apache-2.0
// assay inputs: writes the input families as .npy files, for outputs made by any other program. assay grade
// judges those outputs.
#include "reference/inputs/inputs.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "reference/error.hpp"
#include "reference/files/npy.hpp"
#include "reference/k_range.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/say.hpp"
#include "reports/runs/manifest.hpp"

namespace assay {
namespace {

struct InputsArguments {
  FrameOptions run;
  std::string op = "softmax";
  std::vector<std::string> dtypes = {"f32"}, families;
  std::vector<std::int64_t> sizes = {1, 2, 33, 1000, 4099, 32000};
  std::optional<std::int64_t> rows;
  std::uint64_t seed = 1;
  AskedPick pick;
};

int run_inputs_command(const InputsArguments& o) {
  Manifest m;
  const auto op = parse_op(o.op);
  if (!op || !from_logits(*op)) throw InputError("--op " + o.op + ": " + names_of_ops_from_logits());
  if (o.rows && *o.rows < 1) throw InputError("--rows: must be 1 or more");
  m.op = *op;
  m.pick = o.pick.of(*op, usual_pick(*op));
  m.seed = o.seed;
  std::vector<const Family*> chosen;
  for (const std::string& f : o.families) {
    require_drawn(f);
    chosen.push_back(&family_named(f));
  }
  if (o.families.empty())
    for (const Family& f : families()) chosen.push_back(&f);

  std::vector<std::pair<Manifest::Entry, const Family*>> entries;
  for (const std::string& d : o.dtypes) {
    const auto t = parse_dtype(d);
    if (!t || !can_judge(*t)) throw InputError("--dtype " + d + ": f16, bf16 or f32");
    for (const Family* f : chosen)
      for (const std::int64_t V : o.sizes) {
        if (V < 1) throw InputError("--V: must be 1 or more");
        if (!applies(*f, *t, V)) continue;
        const std::string prefix = o.dtypes.size() > 1 ? d + "_" : "";
        entries.push_back({{fmt::format("{}{}_V{}.npy", prefix, f->name, V), f->name, f->why, *t,
                            o.rows.value_or(report_rows(*f, *t, V, false)), V},
                           f});
      }
  }
  if (entries.empty()) throw InputError("no family exists for these dtypes and V");

  RunFrame run(o.run);
  run.open_folder();
  std::int64_t elements = 0;
  for (const auto& [e, f] : entries) {
    write_npy(run / e.file, make_input(*f, e.dtype, e.V, e.rows, o.seed), Bf16::as_u2);
    m.entries.push_back(e);
    elements += e.rows * e.V;
  }
  // Written last: a folder with a manifest is complete.
  run.finish({{kManifest, render_manifest(m, o.run.out)}}, std::ssize(m.entries), kPassed);
  tell("{} files, {} elements: {}\nwrite the outputs of NAME.npy as {}{} beside it, then: assay grade {}\n",
       m.entries.size(), elements, (run / kManifest).string(), values_beside("NAME.npy", m.op).string(),
       selects(m.op) ? " and " + indices_beside("NAME.npy").string() : "", o.run.out);
  return kPassed;
}

}  // namespace

static void add_inputs_command(CLI::App& app, int& status) {
  auto o = std::make_shared<InputsArguments>();
  CLI::App* c = app.add_subcommand("inputs", "the input families as .npy files, for outputs made elsewhere");
  add_out(*c, o->run.out, "folder for the files and manifest.json")->required();
  c->add_option("--op", o->op, "what will be computed from them: " + names_of_ops_from_logits())
      ->capture_default_str();
  c->add_option("--dtype", o->dtypes, "f16, bf16 (as uint16), f32")->capture_default_str();
  add_family(*c, o->families);
  add_whole(*c, "--V", o->sizes, "row lengths")->capture_default_str();
  add_whole(*c, "--rows", o->rows, "rows of every file (by family and V)");
  add_pick(*c, o->pick, "k of top-k (5)");
  add_seed(*c, o->seed);
  c->callback([o, &status] { status = run_inputs_command(*o); });
}

const Command inputs_command = {"inputs",
                                add_inputs_command,
                                {"0  written", kBadCallText, "3  the machine cannot do it"},
                                {"assay inputs --out in --family normal_1 --V 33 --rows 4",
                                 "assay inputs --out in16 --op topk --dtype f16 --family ties --V 1000"}};

}  // namespace assay
