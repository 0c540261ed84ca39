// SPDX-License-Identifier: Apache-2.0
// assay coq: one short row of softmax and its outputs as a file of Coq, whose theorem is the verdict of the
// element bound. coqc proves it from accuracy/proof alone: nothing of this program is trusted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>

#include "accuracy/bounds/bounds.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/runs/graded.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLongest = 64;
/// So close to its bound neither verdict is claimed: the bounds here are raised by some 1e-7.
constexpr double kClose = 1e-5;

struct CoqArguments {
  std::string logits, probs, dtype, out = "verdict.v";
  std::int64_t row = 0;
  GradeOptions grade;
};

/// The largest error in units of its room, and where.
struct Worst {
  double ratio = 0;
  std::size_t place = 0;  // in the order of coq_columns
};

Worst worst_of(const RowTruth& row, const RowBounds& b, const std::vector<std::size_t>& columns,
               const std::vector<double>& outputs) {
  Worst worst;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const std::size_t i = columns[k];
    const double p = 0.5 * (row.lo[i] + row.hi[i]), error = outputs[k] - p;
    const double room = (error < 0 ? -std::expm1(-b.A[i]) : std::expm1(b.A[i])) * p + b.w;
    const double ratio = std::fabs(error) / room;
    if (!(ratio <= worst.ratio)) worst = {ratio, k};
  }
  return worst;
}

/// A name inside a comment of Coq, which quotes, stars and parentheses could end.
std::string in_comment(std::string name) {
  for (char& c : name)
    if (c == '"' || c == '*' || c == '(' || c == ')' || c == '\n') c = '_';
  return name;
}

/// coqc makes a module's name of the file's.
void must_be_module(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (file.extension() != ".v" || stem.empty() || std::isdigit(static_cast<unsigned char>(stem[0])) != 0 ||
      !std::ranges::all_of(stem, letter))
    throw InputError("--out " + file.string() + ": coqc takes NAME.v, NAME of letters, digits and _");
}

std::string listed(const std::vector<std::size_t>& columns) {
  std::string all;
  for (const std::size_t i : columns) all += fmt::format("{}{}", all.empty() ? "" : " ", i);
  return all;
}

int run_coq_command(const CoqArguments& o) {
  if (o.logits.empty() || o.probs.empty()) throw InputError("assay coq: needs --logits and --probs");
  must_be_module(o.out);
  Graded g;
  g.logits = o.logits;
  g.values = o.probs;
  if (!o.dtype.empty()) take_dtype(o.dtype, g);
  const GradedFiles files = load_graded(g, Op::softmax);
  const std::int64_t V = files.logits.V;
  if (V > kLongest)
    throw InputError(fmt::format("{}: rows of {} logits: assay coq takes {} at most", o.logits, V, kLongest));
  if (o.row >= files.logits.rows)
    throw InputError(fmt::format("--row {}: {} has {} rows", o.row, o.logits, files.logits.rows));
  const Dtype in = files.logits.dtype, out = files.values->dtype;
  GradeOptions grade = o.grade;
  if (declared_value(grade.declaration, "normalise").empty()) grade.declaration += " normalise=recomputed";
  const Variant v = graded_variant(grade, in, out, 0);
  const Terms t = terms_of(v.claim, v.backend, out, V);
  const RowTruth row = row_truth(in, files.logits.row(o.row), V, out);
  const auto at = [&](std::size_t i) { return fmt::format("row {}, column {}", o.row, i); };
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    if (!std::isfinite(row.x[i]))
      throw InputError(
          fmt::format("{}: {}: the logit is {}: assay coq takes finite ones", o.logits, at(i), row.x[i]));
    if (const double y = files.values->at(o.row, static_cast<std::int64_t>(i)); !std::isfinite(y))
      throw InputError(
          fmt::format("{}: {}: the output is {}: that is wrong without a proof", o.probs, at(i), y));
  }
  const RoundedShift shift = shift_of(row, t);
  if (const std::string why = outside_coq(t, row, shift); !why.empty())
    throw InputError("assay coq: the formula in Coq does not cover " + why + ": declare otherwise");
  if (t.stored) throw InputError("assay coq: the formula in Coq has no outputs of numerators=output");
  if (!t.shifted)
    throw InputError("assay coq: the theorem on outputs is of softmax with a subtracted maximum");
  const RowBounds b = row_bounds(t, row, shift);
  if (const std::string why = outside_domain(v.claim, row, b.b); !why.empty())
    throw InputError(fmt::format("{}: row {}: {}", o.logits, o.row, why));

  const std::vector<std::size_t> columns = coq_columns(row);
  std::vector<double> outputs;
  std::string dyadics;
  for (const std::size_t i : columns) {
    outputs.push_back(files.values->at(o.row, static_cast<std::int64_t>(i)));
    dyadics += (dyadics.empty() ? "" : "; ") + coq_dyadic(outputs.back());
  }
  const Worst worst = worst_of(row, b, columns, outputs);
  const bool pass = worst.ratio < 1 - kClose;
  if (!pass && worst.ratio < 1 + kClose)
    throw InputError(fmt::format("{}: {}: within {} of its bound: no verdict is claimed", o.probs,
                                 at(columns[worst.place]), kClose));
  std::string text = fmt::format(
      "(* Made by assay coq of row {0} of {1} and {2}.\n"
      "   Largest error: {3:.4g} times its bound, in column {4}. Columns, in the order below: {5}.\n"
      "   Compile with: coqc -Q PROOFS Assay {6}, PROOFS being a folder that accuracy/proof/check made. *)\n"
      "Require Import Reals ZArith List Assay.RowFormula Assay.RowVerdict.\nImport ListNotations.\n"
      "Definition row : case := {7}.\n"
      "Definition outputs : list (Z * Z) := [{8}].\n"
      "(* the division's relative error, the last rounding's, the absolute error of an output *)\n"
      "Definition divided := {9}.\nDefinition rounded := {10}.\nDefinition smallest := {11}.\n",
      o.row, in_comment(o.logits), in_comment(o.probs), worst.ratio, columns[worst.place], listed(columns),
      in_comment(o.out), coq_case(t, row, shift), dyadics, coq_dyadic(t.D), coq_dyadic(t.u_out),
      coq_dyadic(t.w_out));
  if (pass)
    text +=
        "(* PASS: every output lies where the outputs of a kernel of the class lie. *)\n"
        "Theorem verdict : well_posed row divided rounded /\\ allowed row divided rounded smallest outputs.\n"
        "Proof. apply passes_true. vm_cast_no_check (eq_refl true). Qed.\n";
  else
    text += fmt::format(
        "(* FAIL: one output lies where no kernel of the class puts it (refused_by_all). *)\n"
        "Theorem verdict : well_posed row divided rounded /\\ refused row divided rounded smallest outputs.\n"
        "Proof. apply (fails_true row divided rounded smallest {}). vm_cast_no_check (eq_refl true). Qed.\n",
        worst.place);
  write_files({{o.out, text + "Print Assumptions verdict.\n"}});
  tell("{}: {}, {} columns, largest error {:.4g} times its bound in column {}\n", o.out,
       pass ? "PASS" : "FAIL", columns.size(), worst.ratio, columns[worst.place]);
  return pass ? kPassed : kFailed;
}

}  // namespace

static void add_coq_command(CLI::App& app, int& status) {
  auto o = std::make_shared<CoqArguments>();
  CLI::App* c =
      app.add_subcommand("coq", "write the verdict on one short row of softmax as a theorem for coqc");
  c->add_option("--logits", o->logits, "FILE[:NAME], .npy, .npz or .safetensors: rows of at most 64 logits");
  c->add_option("--probs", o->probs, "likewise: their softmax");
  c->add_option("--dtype", o->dtype, "dtype of the logits, or of logits:outputs as f32:bf16");
  add_whole(*c, "--row", o->row, "which row")->capture_default_str();
  c->add_option("--declare", o->grade.declaration,
                "what the author promises beside normalise=recomputed: \"algorithm=safe; exp=fast\"");
  add_out(*c, o->out, "the file to write")->capture_default_str();
  c->footer(
      "The theorem says that every output is within the element bound of its class, or that one is not.\n"
      "The checks of a whole row (its sum, order, equal logits) are not part of it. To prove it:\n"
      "  accuracy/proof/check PROOFS\n"
      "  coqc -Q PROOFS Assay verdict.v");
  c->callback([o, &status] { status = run_coq_command(*o); });
}

const Command coq_command = {
    "coq",
    add_coq_command,
    {"0  written, and every output is within its bound", "1  written, and one output is not", kBadCallText},
    {"assay coq --logits x.npy --probs y.npy --declare algorithm=safe",
     "assay coq --logits x.npy --probs y.npy --declare algorithm=online --row 3 --out row3.v"}};

}  // namespace assay
