// SPDX-License-Identifier: Apache-2.0
// Compiles a file for a device or for the host executor, and says why it does not compile.
#include "kernels/adapter/compile/one_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "kernels/adapter/compile/announce.hpp"
#include "kernels/adapter/compile/build_folder.hpp"
#include "kernels/adapter/compile/compiler_log.hpp"
#include "kernels/adapter/compile/included_files.hpp"
#include "kernels/adapter/compile/toolchain.hpp"
#include "kernels/adapter/embedded.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/finder.hpp"
#include "kernels/adapter/entry/source_tokens.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"
#include "reference/file_writing.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The names in a text. Empty if the text cannot be read.
std::vector<EntryToken> words_of(std::string_view text) {
  try {
    std::vector<EntryToken> all = entry_tokens(text);
    std::erase_if(all, [](const EntryToken& t) { return t.kind != EntryToken::word; });
    return all;
  } catch (const InputError&) {
    return {};
  }
}

/// Finds a word of the entry that neither the file nor the files it includes with quotes have: the function's
/// name, or a name in a value of --arg. Empty if they have all words.
std::string unknown_word(const OneFile& file, const std::set<fs::path>& texts) {
  if (file.entry.empty()) return {};
  std::set<std::string, std::less<>> known;
  for (const fs::path& p : texts) {
    const std::string text = read_text(p);  // tokens point into it
    for (const SourceToken& t : source_tokens(text))
      if (t.kind != SourceToken::directive)
        known.emplace(t.spelling);
      else  // it may be the name of a macro
        for (const EntryToken& word : words_of(t.spelling)) known.emplace(word.spelling);
  }
  const auto missing = [&](std::string_view text) -> std::string {
    for (const EntryToken& t : words_of(text))
      if (!known.contains(t.spelling)) return std::string(t.spelling);
    return {};
  };
  for (const EntrySignature& s : entries_of(file)) {
    const std::string name = s.function.substr(0, s.function.find('<'));
    if (const std::string word = missing(name); !word.empty())
      return file.source + ": has no function " + quote_entry(word) + ", which --entry names";
    for (const Parameter& p : s.parameters)
      if (p.role == Role::literal)
        if (const std::string word = missing(p.literal); !word.empty())
          return "--arg " + quote_entry(p.name + "=" + p.literal) + ": " + quote_entry(word) +
                 " is not to be found in " + file.source;
  }
  return {};
}

/// Runs a compiler. Throws InputError with its first errors, or with the one word that the executor does not
/// support.
void compile_step(const std::string& source, const std::vector<std::string>& words, const fs::path& log) {
  // Another process may compile the same file into the same folder.
  const fs::path own = unique_part(log);
  const int status = run_program(words, own.string());
  if (status == 0) {
    fs::remove(own);
    return;
  }
  const std::string text = read_text(own);
  fs::rename(own, log);
  if (const std::string why = unspoken(text); !why.empty()) throw InputError(why);
  const std::string error = first_error(text);
  throw InputError(source + " does not compile: " +
                   (error.empty() ? words[0] + " ended with " + std::to_string(status) : error) +
                   " (log: " + log.string() + ")");
}

std::string joined(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) {
    const bool plain = !w.empty() && w.find_first_of(" '\"\\$;&|<>()*?") == w.npos;
    s += (s.empty() ? "" : " ") + (plain ? w : "'" + w + "'");
  }
  return s;
}

AdapterFile adapter_file(const OneFile& file, const std::vector<EntrySignature>& entries,
                         const fs::path& included) {
  AdapterFile a;
  a.source = included.string();
  a.name = variant_name(!file.name.empty() ? file.name
                        : !entries.empty() ? entries[0].function
                                           : fs::path(file.source).stem().string());
  a.declaration = file.declaration;
  a.host = file.host;
  return a;
}

bool has_flag(const std::vector<std::string>& flags, std::initializer_list<const char*> starts) {
  return std::any_of(flags.begin(), flags.end(), [&](const std::string& f) {
    return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return f.starts_with(s); });
  });
}

/// `texts`: the file and the files that it includes with quotes.
CompiledFile finish(const OneFile& file, const std::set<fs::path>& texts, const fs::path& target,
                    std::vector<std::string> words, const std::string& version) {
  CompiledFile made;
  made.path = target.string();
  made.compiler = version;
  made.command = joined(words);
  made.cached = fs::exists(target);
  if (made.cached) {
    note_use(target);
    return made;
  }
  const fs::path part = unique_part(target), log = target.string() + ".log";
  words.insert(words.end(), {"-o", part.string()});
  try {
    const Announced now(fs::path(file.source).filename().string());
    compile_step(file.source, words, log);
  } catch (const InputError&) {
    // An error in the author's own file is reported as it is.
    const std::string text = read_text(log);
    if (!in_adapter(text)) throw;
    std::set<std::string> contents;
    for (const fs::path& p : texts) contents.insert(read_text(p));
    const std::string unknown = unknown_word(file, texts);
    for (const EntrySignature& s : entries_of(file)) {
      const std::string macro = behind_macro(s.function, file.source, contents);
      const bool named = unknown.empty() || unknown.starts_with("--arg");
      const std::string fits_not = misfit(text, s.function, file.source, contents, log.string());
      const bool absent = !named || macro.find(" is a macro") != macro.npos;
      for (const std::string& why : {absent ? macro : std::string(), unknown, fits_not})
        if (!why.empty()) throw InputError(why);
    }
    throw;
  }
  fs::rename(part, target);
  if (file.build_dir.empty()) evict_old(build_folder(""), cache_limit());
  return made;
}

CompiledFile compile_for_device(const OneFile& file) {
  const fs::path source = fs::absolute(file.source).lexically_normal();
  const fs::path build = build_folder(file.build_dir);
  const fs::path headers = write_headers(build);
  const std::string nvcc = find_nvcc();
  const fs::path scratch = unique_part(build / "version");
  const std::string version = version_of({nvcc}, scratch.string());
  std::error_code ignored;
  fs::remove(scratch, ignored);
  const std::vector<std::string> flags = split_words(file.nvcc_flags);
  const std::string adapter = adapter_of(file);
  std::vector<std::string> words = {nvcc,
                                    "-shared",
                                    "-O3",
                                    "-lineinfo",
                                    "-w",
                                    "-Xcompiler=-fPIC,-fvisibility=hidden",
                                    "-I" + headers.string()};
  if (!has_flag(flags, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    words.push_back(gpu_architecture());
  if (!has_flag(flags, {"-std", "--std"})) words.push_back("-std=c++17");
  // The flags with which extensions are usually built.
  for (const char* usual : {"--expt-relaxed-constexpr", "--extended-lambda"})
    if (!has_flag(flags, {usual})) words.push_back(usual);
  words.insert(words.end(), flags.begin(), flags.end());
  Fingerprint f;
  f << joined(words) << version << adapter;
  std::set<fs::path> seen;
  add_contents(f, source, include_folders(flags), seen);
  const std::string name = source.stem().string() + "-" + f.text().substr(0, 16);
  write_text(build / (name + "_adapter.cu"), adapter);
  words.push_back((build / (name + "_adapter.cu")).string());
  return finish(file, seen, build / (name + ".so"), std::move(words), version);
}

/// Flags that mean the same to a host compiler.
std::vector<std::string> host_flags(const std::vector<std::string>& flags) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::string& f = flags[i];
    if ((f == "-D" || f == "-U" || f == "-I" || f == "-include") && i + 1 < flags.size()) {
      all.push_back(f);
      all.push_back(flags[++i]);
    } else if (f.starts_with("-D") || f.starts_with("-U") || f.starts_with("-I")) {
      all.push_back(f);
    }
  }
  return all;
}

enum class Sanitize { none, threads };

/// The flags that keep paths out of what is compiled, in __FILE__ and in the debug information: the same
/// contents are to give the same bytes in another folder, from another folder and with another build folder.
std::vector<std::string> without_paths(const std::set<fs::path>& texts, const fs::path& headers,
                                       const std::vector<fs::path>& made) {
  std::vector<fs::path> all = made;
  std::error_code gone;
  const char* const shells = std::getenv("PWD");  // the debug information names the current folder so
  all.insert(all.end(), {headers, fs::current_path(gone), shells ? shells : ""});
  for (const fs::path& text : texts) all.push_back(text.parent_path());
  std::set<std::pair<std::size_t, fs::path>> folders;  // the compiler takes the last that fits: the innermost
  for (const fs::path& folder : all) folders.emplace(folder.string().size(), folder);
  std::vector<std::string> flags;
  for (const auto& [length, folder] : folders)
    if (folder.has_relative_path())  // neither "/" nor ""
      flags.push_back("-ffile-prefix-map=" + folder.string() + "=" + (folder == headers ? "assay" : "."));
  return flags;
}

/// The executor's object files, compiled once for each compiler.
std::vector<std::string> executor_objects(const fs::path& build, const fs::path& headers,
                                          const std::vector<std::string>& compiler,
                                          const std::string& version, Sanitize sanitize) {
  Fingerprint f;
  f << headers.string() << joined(compiler) << version
    << (sanitize == Sanitize::threads ? "threads" : "paths");
  const fs::path folder = build / ("executor-" + f.text().substr(0, 16));
  fs::create_directories(folder);
  std::vector<std::string> objects;
  std::vector<fs::path> sources;
  for (const EmbeddedText& t : embedded_texts())
    if (const fs::path p = t.path; p.parent_path() == "kernels/host" && p.extension() == ".cpp")
      sources.push_back(p);
  for (const fs::path& source : sources) {
    const fs::path object = folder / (source.stem().string() + ".o");
    objects.push_back(object.string());
    if (fs::exists(object)) continue;
    std::vector<std::string> words = compiler;
    words.insert(words.end(), {"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w", "-ffp-contract=off",
                               "-fno-tree-slp-vectorize", "-fno-tree-ter", "-I" + headers.string()});
    if (sanitize == Sanitize::threads)
      words.push_back("-DASSAY_TSAN");
    else
      for (std::string& flag : without_paths({}, headers, {})) words.push_back(std::move(flag));
    const fs::path part = unique_part(object);
    const Announced now("the host executor, once for this compiler: file " + std::to_string(objects.size()) +
                        " of " + std::to_string(sources.size()));
    words.insert(words.end(), {"-c", (headers / source).string(), "-o", part.string()});
    compile_step("the host executor (Boost.Context is needed: libboost-context-dev)", words,
                 object.string() + ".log");
    fs::rename(part, object);
  }
  return objects;
}

CompiledFile compile_for_host(const OneFile& file, Sanitize sanitize) {
  const fs::path source = fs::absolute(file.source).lexically_normal();
  const std::vector<EntrySignature> entries = entries_of(file);
  const fs::path build = build_folder(file.build_dir);
  const fs::path headers = write_headers(build);
  const std::vector<std::string> compiler = find_host_compiler();
  const fs::path scratch = unique_part(build / "version");
  const std::string version = version_of(compiler, scratch.string());
  std::error_code ignored;
  fs::remove(scratch, ignored);
  const std::vector<std::string> flags = split_words(file.nvcc_flags);

  // The folder's name is a fingerprint of the sources. The rewritten files include each other by that name.
  Fingerprint contents;
  std::set<fs::path> seen;
  add_contents(contents, source, include_folders(flags), seen);
  contents << headers.string();
  const fs::path folder = build / (source.stem().string() + "-host-" + contents.text().substr(0, 16));
  Rewritten rewritten(folder, include_folders(flags));
  const fs::path main = rewritten.of(source);
  const std::string adapter = adapter_source(adapter_file(file, entries, main), entries);
  for (const auto& [path, text] : rewritten.texts()) write_text(path, text);

  std::vector<std::string> words = compiler;
  words.insert(words.end(),
               {"-std=gnu++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-w", "-ffp-contract=off",
                "-fno-tree-slp-vectorize", "-fno-tree-ter", "-Wl,-z,defs", "-I" + headers.string()});
  for (const std::string& f : host_flags(flags)) words.push_back(f);
  // A GPU stops at a misaligned vector access, but this machine allows it. So make it trap here.
  if (sanitize == Sanitize::none)
    words.insert(words.end(), {"-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"});
  if (sanitize == Sanitize::threads)
    words.insert(words.end(), {"-fsanitize=thread", "-DASSAY_TSAN", "-Dmain=assay_main_of_the_file"});
  Fingerprint f;
  f << joined(words) << version << adapter << folder.string();
  const std::string name = f.text().substr(0, 16);
  // Its own name would stand in the symbol table, so it is always the same one.
  const fs::path adapter_path = folder / name / "the_adapter.cpp";
  write_text(adapter_path, adapter);
  // The race checker reports places of the author's file.
  if (sanitize == Sanitize::none)
    for (std::string& flag : without_paths(seen, headers, {folder, adapter_path.parent_path()}))
      words.push_back(std::move(flag));
  const std::vector<std::string> objects = executor_objects(build, headers, compiler, version, sanitize);
  words.push_back(adapter_path.string());
  words.insert(words.end(), objects.begin(), objects.end());
  if (sanitize == Sanitize::threads) words.push_back((headers / "kernels/adapter/race_main.cpp").string());
  if (sanitize == Sanitize::none) words.push_back("-shared");
  words.push_back("-lboost_context");
  return finish(file, seen, folder / (name + (sanitize == Sanitize::none ? ".so" : "_races")),
                std::move(words), version);
}

}  // namespace

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
                          ? quote_entry(names[0])
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
  return adapter_source(adapter_file(file, entries, fs::absolute(file.source).lexically_normal()), entries);
}

CompiledFile compile(const OneFile& file) {
  return file.host ? compile_for_host(file, Sanitize::none) : compile_for_device(file);
}

std::vector<std::string> texts_of(const OneFile& file) {
  Fingerprint unused;
  std::set<fs::path> seen;
  add_contents(unused, fs::absolute(file.source).lexically_normal(),
               include_folders(split_words(file.nvcc_flags)), seen);
  std::vector<std::string> texts;
  for (const fs::path& path : seen) texts.push_back(read_text(path));
  return texts;
}

std::string compile_one_file(const OneFile& file) { return compile(file).path; }

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
