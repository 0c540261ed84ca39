// SPDX-License-Identifier: Apache-2.0
// What a file and an --entry say together, and the ways to compile them.
#include "kernels/adapter/compile/one_file.hpp"

#include <filesystem>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/adapter/units/finder.hpp"
#include "kernels/adapter/units/left_out.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"

namespace assay {

namespace fs = std::filesystem;

AdapterFile adapter_file(const OneFile& file, const std::vector<EntrySignature>& entries) {
  AdapterFile a;
  a.name = variant_name(!file.name.empty() ? file.name
                        : !entries.empty() ? entries[0].function
                                           : fs::path(file.source).stem().string());
  a.declaration = file.declaration;
  a.host = file.host;
  return a;
}

std::vector<EntrySignature> entries_of(const OneFile& file) {
  std::error_code error;
  if (fs::is_directory(file.source, error)) throw InputError(file.source + ": is a folder, and no file");
  if (!fs::is_regular_file(file.source, error)) throw InputError(file.source + ": no such file");
  if (fs::absolute(file.source).string().find('"') != std::string::npos)
    throw InputError(file.source + ": no #include can name a path with a quote in it: rename it");
  std::vector<EntryArgument> arguments;
  for (const std::string& a : file.args) arguments.push_back(parse_entry_argument(a));
  if (file.entry.empty()) {
    if (!arguments.empty()) throw InputError("--arg is for the parameters of an --entry, and none was given");
    const std::string text = read_text(file.source);
    for (const SourceToken& t : source_tokens(text))
      if (t.is("ASSAY_VARIANT")) return {};
    const std::vector<FoundFunction> all = functions_in(text);
    std::vector<std::string> names;
    for (const FoundFunction& f : all)
      if (f.declaration.find('*') != std::string::npos) names.push_back(f.name);
    throw InputError(file.source + ": --entry " +
                     (names.size() == 1
                          ? in_quotes(names[0])
                          : "'void softmax(const float* in, float* out, int rows, int V, cudaStream_t s)'") +
                     " is needed, or a last line ASSAY_VARIANT(name, launcher)" +
                     (names.size() == 1 ? "" : name_functions(all)));
  }
  const std::string squares = declared_value(file.declaration, "causal");
  const bool causal = !squares.empty() && squares != name(Causal::no);
  std::vector<EntrySignature> all;
  if (file.dtypes.empty())
    all.push_back(parse_entry(file.entry, arguments, file.op, {}, causal));
  else
    for (const Dtype t : file.dtypes) {
      all.push_back(parse_entry(file.entry, arguments, file.op, t, causal));
      if (!entry_is_template(file.entry) && file.dtypes.size() > 1)
        throw InputError(
            "--entry: for more than one dtype its types are written with T: 'void softmax<T>(const T* in, T* "
            "out, ...)'");
      if (all.back().in != t)
        throw InputError(std::string("--entry: its input is ") + name(all.back().in) + ", and --types says " +
                         name(t));
    }
  return all;
}

std::string adapter_of(const OneFile& file) {
  const std::vector<EntrySignature> entries = entries_of(file);
  return whole_adapter(adapter_file(file, entries), entries,
                       fs::absolute(file.source).lexically_normal().string());
}

CompiledFile compile(const OneFile& file) {
  return file.host ? compile_for_host(file, Sanitize::none) : compile_for_device(file);
}

std::vector<std::string> texts_of(const OneFile& file) {
  std::vector<std::string> texts;
  for (const HashedFile& f : compile(file).files) texts.push_back(read_text(f.path));
  return texts;
}

namespace {

/// What tells a file when it is compiled, or that the race checker is. The tokens of a directive count, too.
void add_questions(std::vector<std::string>& all, const std::string& file,
                   const std::vector<SourceToken>& tokens, int line = 0) {
  for (const SourceToken& t : tokens) {
    const int at = line > 0 ? line : t.line;
    const auto add = [&](const char* asks) {
      const std::string words = file + ": line " + std::to_string(at) + " asks " + asks;
      if (all.empty() || all.back() != words) all.push_back(words);
    };
    if (t.kind == SourceToken::directive) add_questions(all, file, source_tokens(t.spelling.substr(1)), at);
    if (t.is("__DATE__") || t.is("__TIME__") || t.is("__TIMESTAMP__"))
      add("when it is compiled, and got a moment that its contents decide");
    if (t.is("__SANITIZE_THREAD__") || t.is("ASSAY_TSAN"))
      add("whether the race checker looks at it, which is then another program");
  }
}

}  // namespace

std::vector<std::string> said_left_out(const OneFile& file) {
  std::vector<std::string> all;
  for (const auto& [path, text] : included_texts(fs::absolute(file.source).lexically_normal(),
                                                 include_folders(split_words(file.nvcc_flags)))) {
    add_questions(all, path.filename().string(), source_tokens(text));
    if (!file.host) continue;
    std::string lines, others;
    for (const LeftOut& l : left_out_on_host(text)) {
      std::string& of = l.only_on_host ? others : lines;
      of += (of.empty() ? "" : ", ") + std::to_string(l.from) +
            (l.to > l.from ? "-" + std::to_string(l.to) : "") + " (" + l.macro + ")";
    }
    if (!lines.empty())
      all.push_back(path.filename().string() + ": lines " + lines +
                    " are for nvcc, and were left out on the host");
    if (!others.empty())
      all.push_back(path.filename().string() + ": lines " + others +
                    " are for the host alone: nvcc does not compile them");
  }
  return all;
}

std::string compile_one_file(const OneFile& file) { return compile(file).path; }

CompiledFile compile_watched(const OneFile& file) { return compile_for_host(file, Sanitize::branches); }

std::string build_race_checker(const OneFile& file) {
  OneFile host = file;
  host.host = true;
  return compile_for_host(host, Sanitize::threads).path;
}

int run_race_checker(const std::string& program, std::string& report) {
  const std::string log = unique_part(program + ".log").string();
  int status = run_program({program}, log);
  report = read_text(log);
  if (status != 0 && report.find("unexpected memory mapping") != report.npos) {
    status = run_program({"setarch", "-R", program}, log);
    report = read_text(log);
  }
  fs::remove(log);
  return status;
}

}  // namespace assay
