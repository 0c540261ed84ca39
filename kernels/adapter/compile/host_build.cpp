// SPDX-License-Identifier: Apache-2.0
// Compiles a file for the host executor, and the executor itself.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/own_object.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/embedded.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/adapter/units/variant_lines.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

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
                                          const Compiler& compiler, Sanitize sanitize, const Workplace& at,
                                          SystemHashes& hashes) {
  std::vector<fs::path> sources;
  for (const EmbeddedText& t : embedded_texts())
    if (const fs::path p = t.path; p.parent_path() == "kernels/host" && p.extension() == ".cpp")
      sources.push_back(p);
  // What watches branches is not watched itself.
  if (sanitize == Sanitize::branches) sources.emplace_back("kernels/adapter/branches.cpp");
  std::vector<std::string> objects;
  std::optional<Announced> now;  // from the first file that is compiled to the last
  for (const fs::path& source : sources) {
    std::vector<std::string> words = compiler.words;
    words.insert(words.end(), {"-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-w", "-ffp-contract=off",
                               "-fno-tree-slp-vectorize", "-fno-tree-ter", "-I" + headers.string()});
    if (sanitize == Sanitize::threads)
      words.push_back("-DASSAY_TSAN");
    else
      for (std::string& flag : without_paths({}, headers, {})) words.push_back(std::move(flag));
    words.insert(words.end(), {"-c", (headers / source).string()});
    const BuildPlace place(build, "executor-" + source.stem().string(),
                           sha256_of(key_of_command(words, compiler) + embedded_sha256()), ".o");
    std::string changed;
    std::optional<SealedBuild> built = place.find(hashes, changed);
    if (!changed.empty()) note_of_compilation(changed);
    if (!built) {
      const fs::path part = at.scratch / "executor.o", list = at.scratch / "executor.d";
      const std::string what = "the host executor, once for this compiler: file " +
                               std::to_string(objects.size() + 1) + " of " + std::to_string(sources.size());
      now ? now->next(what) : static_cast<void>(now.emplace(what));
      words.insert(words.end(), {"-MD", "-MF", list.string(), "-MT", "made", "-o", part.string()});
      compile_step("the host executor (Boost.Context is needed: libboost-context-dev)", words, at,
                   place.folder() / "compiler.log");
      ReadFiles read = hashed(files_of_rule(read_text(list)), compiler, hashes);
      leave_out(read, headers);
      read.system.insert(read.system.end(), read.files.begin(), read.files.end());
      built = place.keep(part, std::move(read.system));
    }
    objects.push_back(built->path.string());
  }
  return objects;
}

/// Puts the author's files in the place of those that were written from them.
void name_originals(ReadFiles& read, const Rewritten& rewritten,
                    const std::map<fs::path, std::string>& texts) {
  for (HashedFile& f : read.files)
    for (const auto& [made, original] : rewritten.originals())
      if (std::error_code error; fs::canonical(made, error) == f.path)
        f = {fs::canonical(original, error).string(), sha256_of(texts.at(original))};
}

}  // namespace

CompiledFile compile_for_host(const OneFile& file, Sanitize sanitize) {
  const fs::path source = fs::absolute(file.source).lexically_normal();
  const std::vector<EntrySignature> entries = entries_of(file);
  const fs::path build = build_folder(file.build_dir);
  isolation::sandbox_keeps(build.string());
  const Scratch scratch(build);
  SystemHashes hashes(build);
  const fs::path headers = write_headers(build);
  const Compiler compiler = known_host_compiler(find_host_compiler(), build, hashes);
  const std::vector<std::string> flags = split_words(file.nvcc_flags);

  // The folder is named after the sources. The rewritten files include each other by that name.
  const std::map<fs::path, std::string> texts = included_texts(source, include_folders(flags));
  std::set<fs::path> places;
  Sha256 contents;
  for (const auto& [path, text] : texts) {
    places.insert(path);
    contents.add(path.string() + ' ' + sha256_of(text) + '\n');
  }
  contents.add(headers.string());
  const std::string stem = plain_name(source.stem().string());
  const fs::path folder = build / (stem + "-host-" + contents.hex().substr(0, 16));
  Rewritten rewritten(folder, include_folders(flags), texts, headers);
  const fs::path main = rewritten.of(source);
  for (const auto& [path, text] : rewritten.texts()) write_text(path, text);

  std::vector<std::string> words = compiler.words;
  words.insert(words.end(), {"-std=gnu++20", "-O2", "-g1", "-fPIC", "-fvisibility=hidden", "-w",
                             "-ffp-contract=off", "-fno-tree-slp-vectorize", "-fno-tree-ter"});
  // A GPU stops at a misaligned vector access, but this machine allows it. So make it trap here.
  if (sanitize != Sanitize::threads)
    words.insert(words.end(), {"-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"});
  if (sanitize == Sanitize::threads) words.insert(words.end(), {"-fsanitize=thread", "-DASSAY_TSAN"});
  // branches.cpp has the entry of the shared object.
  if (sanitize == Sanitize::branches) words.push_back("-Dassay_plugin_entry=assay_plugin_entry_of_the_file");
  Commands c;
  c.author = words;
  words.push_back("-I" + headers.string());
  c.adapter = c.link = words;
  // It takes a quarter less time than with -O2, and none of it is judged.
  c.adapter.push_back("-O1");
  // A file that names them itself.
  if (std::ranges::any_of(texts, [](const auto& one) { return includes_variant_header(one.second); }))
    c.author.push_back(words.back());
  // What nvcc has by itself. The language is said because the compiler does not know the ending .cu. A name
  // that a macro gives is looked for beside the author's file.
  c.author.insert(c.author.end(),
                  {"-x", "c++", "-include", (headers / "kernels/adapter/host_file.hpp").string(), "-iquote",
                   source.parent_path().string()});
  for (const std::string& f : host_flags(flags)) c.author.push_back(f);
  if (sanitize == Sanitize::threads) c.author.push_back("-Dmain=assay_main_of_the_file");
  if (sanitize == Sanitize::branches) c.author.push_back("-fsanitize-coverage=trace-pc,trace-cmp");
  // By this name the file is known where it lies, and not by that of its copy.
  c.author.push_back("-D__BASE_FILE__=" + c_string(source.filename().string()));
  c.define = "-Wl,--defsym=";
  c.alone = main;
  const Workplace at{scratch.path(), folders_to_read(places, flags, build), moment_of(texts)};
  BuildOrder order{.file = file,
                   .compiler = compiler,
                   .texts = places,
                   .own = {headers, folder},
                   .folder = folder,
                   .stem = sanitize == Sanitize::none      ? "plugin"
                           : sanitize == Sanitize::threads ? "races"
                                                           : "branches",
                   .suffix = sanitize == Sanitize::threads ? "_races" : ".so",
                   .make = {}};
  if (!can_ask(file, [&] {
        return ask_host_compiler(compiler, c.author, main, at.read, at.scratch, hashes, order.read);
      }))
    order.why_anew = at.scratch.string();
  name_originals(order.read, rewritten, texts);
  leave_out(order.read, folder);
  leave_out(order.read, headers);
  const Units units = units_of(file, entries, headers, order.read);
  const fs::path own = folder / sha256_of(text_of(units, c)).substr(0, 16);
  c.with_calls = own / main.filename();
  // Its own name would stand in the symbol table, so it is always the same one.
  c.adapter_source = own / "the_adapter.cpp";
  // The race checker reports places of the author's file.
  if (sanitize != Sanitize::threads)
    for (const std::string& flag : without_paths(places, headers, {folder, own})) {
      c.author.push_back(flag);
      c.adapter.push_back(flag);
    }
  c.objects = order.objects = executor_objects(build, headers, compiler, sanitize, at, hashes);
  c.link.push_back("-Wl,-z,defs");
  if (sanitize != Sanitize::threads) c.link.push_back("-shared");
  if (sanitize == Sanitize::threads)
    c.link_end.push_back((headers / "kernels/adapter/race_main.cpp").string());
  c.link_end.push_back("-lboost_context");
  order.adapter =
      text_of(units, c) + command_text(c.link) + command_text(c.objects) + command_text(c.link_end);
  order.words = c.author;
  order.words.insert(order.words.end(), {"-c", main.string()});
  for (std::string& word : list_what_is_linked(order, at)) c.link.push_back(std::move(word));
  order.make = [&](const fs::path& part, const fs::path& log) {
    return build_objects(file, units, c, at, part, log);
  };
  return finish_build(order, at, hashes);
}

}  // namespace assay
