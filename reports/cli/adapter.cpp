// SPDX-License-Identifier: Apache-2.0
// assay adapter: makes the shared object that `assay check my.cu` would judge, or the source of its adapter.
// For build systems (cmake/assayVariant.cmake), and to read.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

struct AdapterArguments {
  std::string source, out, source_out, races;
  SourceOptions file;
};

/// Copies a file as a whole: whoever opens `to` meanwhile finds the old one or the new one.
void copy_whole(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::filesystem::path part = unique_part(to);
  std::error_code error, ignored;
  std::filesystem::copy_file(from, part, error);
  if (!error) std::filesystem::rename(part, to, error);
  if (!error) return;
  std::filesystem::remove(part, ignored);
  throw InputError(to.string() + ": cannot be written: " + error.message());
}

int run_adapter_command(const AdapterArguments& o) {
  const OneFile file = one_file(o.source, o.file);
  if (!o.source_out.empty()) {
    if (o.file.host)
      throw InputError(
          "--source: with --host the adapter needs a rewritten copy of the file: --out compiles both");
    write_files({{o.source_out, adapter_of(file)}});
    return kPassed;
  }
  if (!o.races.empty()) {
    copy_whole(build_race_checker(file), o.races);
    return kPassed;
  }
  const CompiledFile made = compile(file);
  if (o.out.empty()) {
    std::printf("%s\n", made.path.c_str());
    return kPassed;
  }
  copy_whole(made.path, o.out);
  return kPassed;
}

}  // namespace

static void add_adapter_command(CLI::App& app, int& status) {
  auto o = std::make_shared<AdapterArguments>();
  CLI::App* c = app.add_subcommand(
      "adapter", "make the shared object of one source file, or write its adapter's source");
  c->add_option("file", o->source, "FILE.cu, unedited")->required();
  add_source_options(*c, o->file);
  c->add_option("--declare", o->file.declare, "what the author promises: \"exp=fast; height=V/256+13\"");
  c->add_option(
      "--op", o->file.op,
      names_of_ops_from_logits() + ", normalizer, softmax_backward, if the entry does not determine it");
  add_out(*c, o->out,
          "path of the shared object (without it, it stays in the cache and its path is printed)");
  c->add_option("--source", o->source_out,
                "write the adapter's source to this file instead, for your own compiler");
  c->add_option("--races", o->races,
                "write a program to this file that ThreadSanitizer watches: it exits with 66 after a data "
                "race");
  c->callback([o, &status] { status = run_adapter_command(*o); });
}

const Command adapter_command = {"adapter",
                                 add_adapter_command,
                                 {"0  written", kBadCallText, "3  no compiler, or the file does not compile"},
                                 {"assay adapter my.cu --entry softmax --source adapter.cu",
                                  "assay adapter my.cu --entry softmax --out libmy.so"}};

}  // namespace assay
