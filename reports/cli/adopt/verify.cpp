// SPDX-License-Identifier: Apache-2.0
// assay verify: is a certificate still true? Compares the kernel's files, replays some of the cases, and
// compares what comes out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/adopt/certificate_fields.hpp"
#include "reports/adopt/compare_data.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/adopt/signature.hpp"
#include "reports/cli/adopt/certified_words.hpp"
#include "reports/cli/adopt/judged_files.hpp"
#include "reports/cli/adopt/loaded.hpp"
#include "reports/cli/adopt/new_cases.hpp"
#include "reports/cli/adopt/verification.hpp"
#include "reports/cli/check/run_check.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/run_frame.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/data/tally.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/targets/candidates.hpp"
#include "reports/targets/check_targets.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

struct VerifyArguments {
  FrameOptions frame{.out = "out/verify"};
  std::string certificate, signers, signer;
  TypedWords typed;
  ReplayOptions replay;
  RunSeed seed;
  bool rebuilt = false;
  double timeout = 0;  // 0: as certified
  int device = 0;
};

std::string fact(const std::vector<CertifiedFact>& facts, const std::string& label) {
  for (const CertifiedFact& f : facts)
    if (f.label == label) return f.value;
  return {};
}

/// Of the machine, as far as it decides the bits that a kernel on the CPU computes.
bool same_cpu(const Certificate& c) {
  for (const auto& [label, value] : environment())
    if (label == "CPU") return value == fact(c.environment, "CPU");
  return false;
}

bool same_binary(const std::vector<CertifiedFile>& then, const std::vector<CertifiedFile>& now) {
  return std::any_of(then.begin(), then.end(), [](const CertifiedFile& f) { return f.role == "binary"; }) &&
         differing_file(then, now, false).empty();
}

std::size_t agreed(const VerifyResult& v) {
  return static_cast<std::size_t>(
      std::count_if(v.cases.begin(), v.cases.end(), [](const Replayed& r) { return r.difference.empty(); }));
}

int status_of_verification(const VerifyResult& v, const Certificate& c) {
  if (!v.differences.empty() || agreed(v) < v.cases.size() || !v.fresh_wrong.empty()) return kFailed;
  // Of a PASS at least one case is replayed. A certificate of nothing is what it says.
  return is_right(c) && v.cases.empty() ? kFailed : c.exit_status;
}

VerdictDocument document_of_verification(const VerifyResult& v, const Certificate& c, double seconds) {
  VerdictDocument d;
  d.command = "verify";
  d.exit_status = status_of_verification(v, c);
  d.seconds = seconds;
  d.environment = environment();
  const auto replayed = static_cast<std::int64_t>(v.cases.size()),
             same = static_cast<std::int64_t>(agreed(v));
  d.counts = {{"replayed", replayed},
              {"agreed", same},
              {"differences", std::ssize(v.differences) + replayed - same},
              {"new", v.fresh},
              {"new_failed", std::ssize(v.fresh_wrong)}};
  const bool agrees = v.differences.empty() && same == replayed && replayed > 0;
  d.verdict = name(d.exit_status == kFailed ? Verdict::fail : c.verdict);
  if (!v.differences.empty())
    d.reason = v.differences.front();
  else if (replayed == 0)
    d.reason = "the certificate has no case that can be replayed";
  else if (!agrees)
    d.reason = fmt::format("{} of {} cases differ", replayed - same, replayed);
  else if (!v.fresh_wrong.empty())
    d.reason = fmt::format("a new case fails: {}: {}", why_wrong(v.fresh_wrong.front()),
                           v.fresh_wrong.front().reproduce);
  else
    d.reason = fmt::format(
        "{} cases replayed, all as certified ({}), and {} new cases pass; the certificate says {}: {}",
        replayed, v.bits ? "figures equal bit for bit" : "verdicts equal, figures not compared", v.fresh,
        name(c.verdict), c.reason);
  if (!v.notes.empty()) d.reason += fmt::format("; {}", fmt::join(v.notes, "; "));
  for (const std::string& text : v.differences)
    d.cases.push_back(
        {.suite = "certificate", .name = text, .outcome = Status::fail, .bad = 1, .message = text});
  for (const std::string& text : v.not_compared)
    d.cases.push_back({.suite = "certificate",
                       .name = text,
                       .outcome = Status::not_run,
                       .message = "not compared: " + text});
  for (const Replayed& r : v.cases) {
    VerdictCase one{.suite = r.then->key,
                    .name = r.then->reproduce,
                    .message = r.difference,
                    .reproduce = r.then->reproduce};
    if (!r.difference.empty()) one.outcome = Status::fail, one.bad = 1;
    d.cases.push_back(std::move(one));
  }
  for (const Record& r : v.fresh_wrong)
    d.cases.push_back({.suite = r.key,
                       .name = "a new case",
                       .outcome = Status::fail,
                       .bad = 1,
                       .message = why_wrong(r),
                       .reproduce = r.reproduce});
  return d;
}

void print_verification(const VerdictDocument& d, const VerifyResult& v, const std::string& certificate) {
  std::string text = fmt::format("{} {}: {}\n", d.verdict, certificate, d.reason);
  for (std::size_t i = 1; i < v.differences.size(); ++i) text += "  " + v.differences[i] + "\n";
  for (const Replayed& r : v.cases)
    if (!r.difference.empty()) text += fmt::format("  {}\n    {}\n", r.difference, r.then->reproduce);
  for (const Record& r : v.fresh_wrong)
    text += fmt::format("  a new case fails: {}\n    {}\n", why_wrong(r), r.reproduce);
  for (const std::string& one : v.not_compared) text += "  not compared: " + one + "\n";
  print_verdict(text + seed_line(d.environment));
}

/// The difference of a file, and what to do about it.
std::string changed_file(std::string differs, const Certificate& c) {
  return differs.empty() ? differs : differs + "; adopt it again: " + c.command;
}

/// What a certificate says of its kernels, and what they are. Their words about themselves are not compared.
void compare_with_targets(const Certificate& c, const std::vector<Target>& targets, VerifyResult& v) {
  for (const Target& t : targets) {
    const std::string key = t.variant.key();
    const auto k = std::ranges::find(c.kernels, key, &CertifiedKernel::key);
    if (k == c.kernels.end()) {
      v.differences.push_back("the certificate leaves out the kernel " + key);
      continue;
    }
    AdoptedKernel now = described(t.variant);
    now.claim = k->claim, now.made_by = k->made_by;
    if (t.died) now.on_host = k->on_host, now.description_sha256 = k->description_sha256;
    for (const std::string& one : differing_members(fields_to_json(static_cast<const AdoptedKernel&>(*k)),
                                                    fields_to_json(now), "the kernel says"))
      v.differences.push_back(key + ": " + one);
  }
}

/// Compares the kernel's files and, if they are the same ones, replays cases. False, after words about it, if
/// the kernel cannot run on this machine.
bool compare_kernels(const Certificate& c, const VerifyArguments& o, VerifyResult& v) {
  // The file that the word names, before anything of it is compiled or loaded.
  std::vector<CertifiedFile> named = named_file(c.target.word), certified;
  for (const CertifiedFile& f : c.files)
    if (!named.empty() && f.role == named[0].role) certified.push_back(f);
  // And what it includes.
  std::error_code unknown;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(path_in(c.target.word), unknown).parent_path();
  for (const CertifiedFile& f : c.files) {
    std::error_code none;
    if (f.role != "include" || named.empty()) continue;
    certified.push_back(f);
    if (std::filesystem::is_regular_file(folder / f.path, none))
      named.push_back({f.role, f.path, sha256_of_file(folder / f.path)});
  }
  std::string differs = differing_file(certified, named, o.rebuilt);
  if (differs.empty()) differs = changed_loaded(c);
  std::vector<Target> targets;
  std::vector<CertifiedFile> now;
  if (differs.empty()) {
    try {
      targets = resolve_targets(target_options(c.target));
    } catch (const DiedAtLoad& died) {
      v.differences.emplace_back(died.what());
    }
    now = judged_files(c.target.word, targets);
    differs = differing_file(c.files, now, o.rebuilt);
  }
  if (!differs.empty()) v.differences.push_back(changed_file(std::move(differs), c));
  if (!v.differences.empty()) return true;
  compare_with_targets(c, targets, v);
  for (const Target& t : targets)
    if (const std::string why = cannot_launch(t.variant); !why.empty()) {
      say("assay: {}: {}\n", t.variant.key(), why);
      return false;
    }
  if (!v.differences.empty() || targets.empty()) return true;
  const std::unique_ptr<DeviceLock> lock = lock_device(targets);
  ReplayOptions replay = o.replay;
  replay.seed = o.seed.value;
  replay_cases(c, replay, targets, same_binary(c.files, now) && same_cpu(c), v);
  for (std::string& one : not_certified(c, targets)) v.differences.push_back(std::move(one));
  return true;
}

int run_verify_command(VerifyArguments& o) {
  RunFrame run(o.frame);
  choose_device(o.device);
  const std::filesystem::path file = certificate_file(o.certificate);
  const std::string text = read_file(file);
  Certificate c;
  std::string unknown;
  try {
    c = certificate_from_text(text, file.string());
  } catch (const UnknownWord& e) {
    // Who edited a word is told that. With a hash that fits, it is of nobody knows which program.
    if (changed_since(text).empty()) throw;
    unknown = e.what();
  }
  const std::filesystem::path& out = run.open_folder();
  settle(o.seed, out, false);
  VerifyResult v;
  const Signature signature = signature_of(file, text, o.signers, o.signer);
  (o.signers.empty() || signature.good ? v.notes : v.differences).push_back(signature.words);
  if (std::string changed = changed_since(text); !changed.empty())
    v.differences.push_back(file.string() + ": " + changed);
  if (unknown.empty()) {
    ComparedData data = compare_data(c, file.has_parent_path() ? file.parent_path() : ".");
    std::ranges::move(data.differences, std::back_inserter(v.differences));
    v.not_compared = std::move(data.not_compared);
    if (!data.made_again)
      v.notes.emplace_back("the facts that it is made of do not lie beside it: it was only hashed");
  } else {
    v.differences.push_back(unknown);
  }
  // What contradicts itself is of nobody knows what: nothing of it is compiled, loaded or run.
  if (v.differences.empty()) {
    TypedWords typed = o.typed;
    if (o.timeout > 0) typed.timeout_seconds = o.timeout;
    c.target = target_to_verify(c, file, typed, v.notes);
    if (!compare_kernels(c, o, v) && v.differences.empty()) return kEnvironment;
  }
  VerdictDocument d = document_of_verification(v, c, run.seconds());
  add_seed(d.environment, o.seed);
  run.finish({{"records.jsonl", lines_of(v.records, d.environment)}}, std::ssize(v.records), d.exit_status);
  print_verification(d, v, file.string());
  return run.give(std::move(d));
}

}  // namespace

static void add_verify_command(CLI::App& app, int& status) {
  auto o = std::make_shared<VerifyArguments>();
  CLI::App* c =
      app.add_subcommand("verify", "is a certificate of assay adopt still true? replays a part of it");
  c->add_option("certificate", o->certificate, "the certificate.json that assay adopt wrote, or its folder")
      ->required();
  c->add_option("kernel", o->typed.kernel,
                "where the kernel is now: a key, PLUGIN.so, FILE.cu, FILE.py:FUNCTION (as certified)");
  c->add_option("--nvcc-flags", o->typed.nvcc_flags,
                "words for nvcc instead of the certificate's; these may be any, and the certificate's only "
                "harmless ones");
  c->add_option("--python", o->typed.python, "the interpreter; one that the certificate names is not run");
  add_timeout(*c, o->timeout, "seconds of its own time after which a launch is hung (as certified)");
  add_whole(*c, "--cases", o->replay.cases, "how many cases to replay (20); the worst ones always are",
            {.least = 1});
  add_run_seed(*c, o->seed, "seed of the new cases, and of which others are replayed");
  c->add_option(
      "--signers", o->signers,
      "the allowed signers, a file as ssh-keygen reads it: certificate.json.sig must be of one of them");
  c->add_option("--signer", o->signer, "of these signers the one whose signature it must be")
      ->needs("--signers");
  c->add_flag("--rebuilt", o->rebuilt,
              "the binary may be another build of the same source: verdicts must agree, figures need not");
  add_out(*c, o->frame.out, "folder for records.jsonl of the cases that were replayed")
      ->capture_default_str();
  add_answer_options(*c, o->frame.answer);
  add_threads(*c, o->replay.threads);
  add_device(*c, o->device);
  add_sandbox(*c);
  c->callback([o, &status] { status = run_verify_command(*o); });
}

const Command verify_command = {
    "verify",
    add_verify_command,
    {"0  every replayed case is as certified, and the certificate says PASS",
     "1  a file, a case, the certificate or its signature is another one; or it does not say PASS",
     kBadCallText, "3  the kernel cannot run here, or could not when the certificate was made",
     "4  as 0, and the certificate has limits that nobody declared, or says JUDGED IN PART"},
    {"assay verify out/adopt/certificate.json", "assay verify certificate.json ./libmine.so --cases 60"}};

}  // namespace assay
