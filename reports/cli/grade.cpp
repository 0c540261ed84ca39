// SPDX-License-Identifier: Apache-2.0
// assay grade: judges outputs made by any other program, like those of a kernel that declares nothing, or
// what --declare says. Writes records.jsonl, summary.md, index.html, and the verdict on the terminal.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "kernels/declaration.hpp"
#include "reference/error.hpp"
#include "reference/files/tensor_file.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/runs/manifest.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct GradeArguments {
  FrameOptions run{.out = "out/grade"};
  std::string folder, logits, probs, values, indices, op, dtype;
  GradeOptions grade;
  AskedPick pick;
};

/// Which outputs of one file of logits are to be judged, and as which op.
std::vector<Graded> one_file(GradeArguments& o) {
  if (!o.probs.empty() && !o.values.empty()) throw InputError("--probs and --values: give only one of them");
  const std::string values = o.probs.empty() ? o.values : o.probs;
  if (values.empty() && o.indices.empty())
    throw InputError("--probs or --values: must name the outputs to judge (assay grade --help)");
  if (o.op.empty() && !o.indices.empty()) o.grade.op = o.probs.empty() ? Op::topk : Op::softmax_topk;
  if (o.op.empty() && o.indices.empty() && o.probs.empty())
    throw InputError("--values: of which --op? " + names_of_ops_from_logits());
  if (selects(o.grade.op) && o.indices.empty())
    throw InputError(fmt::format("--indices: --op {} has indices", name(o.grade.op)));
  if (!selects(o.grade.op) && !o.indices.empty())
    throw InputError(fmt::format("--indices: --op {} has none", name(o.grade.op)));
  Graded g;
  g.name = file_of(o.logits).stem().string();
  g.why = "Logits and outputs that were handed in.";
  g.logits = o.logits;
  g.values = values;
  g.indices = o.indices;
  if (!o.dtype.empty()) take_dtype(o.dtype, g);
  for (const std::string& file : {values, o.indices})
    if (std::error_code ignored; !file.empty() && !std::filesystem::exists(file_of(file), ignored))
      throw InputError(file + ": no such file" + other_container(file));
  return {g};
}

int run_grade_command(GradeArguments& o) {
  RunFrame run(o.run);
  if (!o.op.empty()) {
    const auto op = parse_op(o.op);
    if (!op || !from_logits(*op)) throw InputError("--op " + o.op + ": " + names_of_ops_from_logits());
    o.grade.op = *op;
  }
  o.grade.threshold = o.pick.of(o.grade.op, {}).threshold;
  if (keeps_a_set(o.grade.op) && o.folder.empty() && !o.pick.any())
    throw InputError(fmt::format("--threshold: --op {} needs it", name(o.grade.op)));
  if (o.pick.k) throw InputError("--k: the files say the k of top-k");
  if (!keeps_a_set(o.grade.op) && o.pick.any())
    throw InputError("--threshold: it is that of --op min_p and --op top_p");
  if (o.folder.empty() == o.logits.empty())
    throw InputError(
        "assay grade: needs either a folder of assay inputs, or --logits and --probs (assay "
        "grade --help)");
  std::vector<Graded> cases;
  if (o.folder.empty()) {
    cases = one_file(o);
  } else {
    if (!o.probs.empty() || !o.values.empty() || !o.indices.empty() || !o.dtype.empty())
      throw InputError(
          "assay grade FOLDER: its manifest names the files and dtypes: leave out other options "
          "for them");
    const Manifest m = read_manifest(o.folder);
    if (!o.op.empty() && m.op != o.grade.op)
      throw InputError(fmt::format("--op {}: the folder's is {}", o.op, name(m.op)));
    o.grade.op = m.op;
    o.grade.threshold = m.pick.threshold;
    cases = outputs_of(m, o.folder);
  }
  const ReportData data = grade(cases, o.grade);
  const int status = report_passed(data) ? kPassed : kFailed;
  run.open_folder();
  run.finish(data, {{"records.jsonl", lines_of(data.records, data.environment)}}, status);
  print_verdict(render_summary_terminal(data, run.shown("index.html")));
  std::int64_t missing = 0;
  for (const Record& r : data.records)
    if (r.status == Status::not_run && ++missing <= 3) tell("not graded: {}\n", r.reason);
  if (missing > 3) tell("and {} more\n", missing - 3);
  return run.give(verdict_document("grade", data, status));
}

}  // namespace

static void add_grade_command(CLI::App& app, int& status) {
  auto o = std::make_shared<GradeArguments>();
  CLI::App* c = app.add_subcommand("grade", "judge outputs that another program made");
  c->add_option("folder", o->folder, "a folder of assay inputs with the outputs beside them");
  c->add_option("--logits", o->logits,
                "FILE[:NAME], .npy, .npz or .safetensors: rows of logits, f16, bf16 or f32");
  c->add_option("--probs", o->probs, "likewise: their softmax, in f16, bf16, f32 or f64");
  c->add_option("--values", o->values, "likewise: log-probabilities, lse, or top-k's logits");
  c->add_option("--indices", o->indices, "likewise: top-k's indices, int32 or int64");
  c->add_option("--op", o->op, names_of_ops_from_logits() + " (by the files given)");
  add_pick(*c, o->pick, "of top-k: the files say it");
  c->add_option("--dtype", o->dtype,
                "dtype of the logits, or of logits:outputs as f32:bf16; bf16 is read from arrays of uint16, "
                "int16 or V2");
  c->add_option("--declare", o->grade.declaration, "what the author promises: \"exp=fast; height=V/256+13\"");
  add_max_ulp(*c, o->grade.max_ulp,
              "the author's own promise: every element is within so many ulp of the exact value");
  c->add_option("--name", o->grade.name, "name of the outputs in records and page")->capture_default_str();
  add_answer_options(*c, o->run.answer);
  add_threads(*c, o->grade.threads);
  add_out(*c, o->run.out, "folder for records.jsonl, summary.md and index.html")->capture_default_str();
  c->footer(
      "FILE[:NAME] takes one array of a file. Without a name it is the only array, or the one that is "
      "called\n"
      "logits, probs, values or indices like the option. NumPy has no bf16: --dtype bf16 reads a file of\n"
      "its bits, made by x.view(torch.uint16), x.view(torch.int16) or ml_dtypes.\n\n"
      "The outputs are there already, and judging them takes seconds: a run that was interrupted has no\n"
      "--resume and is run again.\n\n"
      "Words of --declare:\n" +
      declaration_words());
  c->callback([o, &status] { status = run_grade_command(*o); });
}

const Command grade_command = {
    "grade",
    add_grade_command,
    {"0  every output passed", "1  an output is wrong, could not be decided, or is missing", kBadCallText,
     "3  the machine lacks memory"},
    {"assay grade --logits x.npy --probs y.npy", "assay grade in --out out/mine"}};

}  // namespace assay
