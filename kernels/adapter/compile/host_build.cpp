// SPDX-License-Identifier: Apache-2.0
// Compiles a file for the host executor, and the executor itself.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/included_files.hpp"
#include "kernels/adapter/embedded.hpp"
#include "kernels/adapter/toolchain/announce.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/file_writing.hpp"

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
                                          const std::vector<std::string>& compiler,
                                          const std::string& version, Sanitize sanitize) {
  Fingerprint f;
  f << headers.string() << command_text(compiler) << version
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

}  // namespace

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
  f << command_text(words) << version << adapter << folder.string();
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
  return finish_build(file, seen, folder / (name + (sanitize == Sanitize::none ? ".so" : "_races")),
                      std::move(words), version);
}

}  // namespace assay
