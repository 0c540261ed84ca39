// SPDX-License-Identifier: Apache-2.0
// Runs the compilers of a build, and says why a file does not compile.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/compiler_log.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

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

struct UnknownWord {
  std::string why;           // empty: there is none
  bool is_function = false;  // otherwise it is in a value of --arg
};
/// Finds a word of the entry that neither the file nor the files it includes with quotes have: the function's
/// name, or a name in a value of --arg.
UnknownWord unknown_word(const OneFile& file, const std::set<fs::path>& texts) {
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
      return {file.source + ": has no function " + in_quotes(word) + ", which --entry names", true};
    for (const Parameter& p : s.parameters)
      if (p.role == Role::literal)
        if (const std::string word = missing(p.literal); !word.empty())
          return {"--arg " + in_quotes(p.name + "=" + p.literal) + ": " + in_quotes(word) +
                  " is not to be found in " + file.source};
  }
  return {};
}

/// The first of these files that is another one now.
std::string changed_among(const std::vector<HashedFile>& files) {
  for (const HashedFile& f : files)
    if (std::error_code error; !fs::is_regular_file(f.path, error) || sha256_of_file(f.path) != f.sha256)
      return f.path;
  return {};
}

/// What the linker and the adapter have read, as their lists say, and nobody knew before: not the files that
/// end with the scratch folder, and not what this program has written itself.
std::vector<HashedFile> other_files(const BuildOrder& o, const fs::path& scratch, SystemHashes& hashes) {
  std::error_code error;
  std::set<std::string> all, known;
  for (const HashedFile& f : o.read.files) known.insert(f.path);
  for (const char* list : {"linked", kAdapterReads, kCallsRead})
    if (fs::is_regular_file(scratch / list, error))
      for (const std::string& f : files_of_rule(read_text(scratch / list)))
        if (const std::string real = fs::canonical(f, error).string(); !error && !known.contains(real))
          all.insert(real);
  std::vector<HashedFile> files;
  for (const std::string& f : all) {
    const bool own = std::any_of(o.own.begin(), o.own.end(), [&](const fs::path& folder) {
      return f.starts_with(fs::canonical(folder, error).string() + "/");
    });
    if (!own && !f.starts_with(fs::canonical(scratch).string() + "/")) files.push_back({f, hashes.of(f)});
  }
  return files;
}

/// Says what the author can change, if the call of the entry is wrong and not the file.
void explain(const BuildOrder& o, const std::string& text, const fs::path& log) {
  if (!in_adapter(text)) return;
  std::set<std::string> contents;
  for (const fs::path& p : o.texts) contents.insert(read_text(p));
  const UnknownWord unknown = unknown_word(o.file, o.texts);
  for (const EntrySignature& s : entries_of(o.file)) {
    const BehindMacro macro = behind_macro(s.function, o.file.source, contents);
    const std::string fits_not = misfit(text, s.function, o.file.source, contents, log.string());
    const bool absent = unknown.is_function || macro.itself;
    for (const std::string& why : {absent ? macro.why : std::string(), unknown.why, fits_not})
      if (!why.empty()) throw InputError(why);
  }
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

CompiledFile described(const BuildOrder& o, SealedBuild built, bool cached) {
  CompiledFile made;
  made.path = built.path.string();
  made.sha256 = std::move(built.sha256);
  made.compiler = o.compiler.version;
  made.compiler_path = o.compiler.words[0];
  made.compiler_sha256 = o.compiler.sha256;
  made.command = command_text(o.words);
  for (const std::string& one : compiler_inputs()) made.environment.push_back(one);
  made.files = o.read.files;
  made.system = o.read.system;
  for (HashedFile& f : built.read)
    if (is_system_file(f.path, o.compiler))
      made.system.push_back(std::move(f));
    else if (std::none_of(o.objects.begin(), o.objects.end(),
                          [&](const std::string& own) { return same_file(own, f.path); }))
      made.files.push_back(std::move(f));
  made.way = std::move(built.note);
  made.cached = cached;
  return made;
}

}  // namespace

std::int64_t moment_of(const std::map<fs::path, std::string>& texts) {
  constexpr std::int64_t kBegin = 1735689600, kSeconds = 3652LL * 86400;  // 2025-01-01
  std::multiset<std::string> hashes;  // in this order: paths differ from machine to machine
  for (const auto& [path, text] : texts) hashes.insert(sha256_of(text));
  Sha256 all;
  for (const std::string& one : hashes) all.add(one);
  return kBegin + static_cast<std::int64_t>(std::stoull(all.hex().substr(0, 15), nullptr, 16)) % kSeconds;
}

void compile_step(const std::string& source, const std::vector<std::string>& words, const Workplace& at,
                  const fs::path& kept) {
  const CompilerRun run{.words = words,
                        .writable = at.scratch,
                        .log = unique_part(at.scratch / "log"),
                        .read = at.read,
                        .moment = at.moment};
  int status = 0;
  try {
    status = run_compiler(run);
  } catch (const EnvironmentError&) {
    throw;
  } catch (const InputError& e) {
    throw InputError(source + " does not compile: " + e.what());
  }
  if (status == 0) return;
  const std::string text = start_of_log(run.log);
  write_text(kept, text);
  if (const std::string why = unspoken(text); !why.empty()) throw InputError(why);
  std::string error = over_a_limit(text, status);
  if (error.empty()) error = first_error(text);
  if (error.empty()) error = words[0] + " ended with " + std::to_string(status);
  throw InputError(source + " does not compile: " + error + " (log: " + kept.string() + ")");
}

bool can_ask(const OneFile& file, const std::function<bool()>& ask) {
  try {
    return ask();
  } catch (const EnvironmentError&) {
    throw;
  } catch (const InputError& e) {
    throw InputError(file.source + " does not compile: " + e.what());
  }
}

std::string key_of_command(const std::vector<std::string>& words, const Compiler& compiler) {
  Sha256 key;
  for (const std::string& w : words) key.add(w + '\0');
  for (const std::string& one : compiler_inputs()) key.add(one + '\0');
  key.add(compiler.version + '\n' + compiler.sha256);
  return key.hex();
}

std::vector<fs::path> folders_to_read(const std::set<fs::path>& texts, const std::vector<std::string>& flags,
                                      const fs::path& build) {
  std::set<fs::path> all = {build};
  for (const fs::path& t : texts) all.insert(t.parent_path());
  std::error_code error;
  for (const fs::path& f : include_folders(flags))
    if (const fs::path real = fs::canonical(f, error); !error) all.insert(real);
  return {all.begin(), all.end()};
}

std::string command_text(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) {
    const bool plain = !w.empty() && w.find_first_of(" '\"\\$;&|<>()*?") == w.npos;
    s += (s.empty() ? "" : " ") + (plain ? w : "'" + w + "'");
  }
  return s;
}

std::vector<std::string> list_what_is_linked(const BuildOrder& o, const Workplace& at) {
  if (!o.compiler.lists_linked) return {};
  const std::string option = "--dependency-file=" + (at.scratch / "linked").string();
  return o.by_nvcc ? std::vector<std::string>{"-Xlinker", option} : std::vector<std::string>{"-Wl," + option};
}

CompiledFile finish_build(const BuildOrder& o, const Workplace& at, SystemHashes& hashes) {
  const std::string key = sha256_of(key_of_command(o.words, o.compiler) + hash_of(o.read) +
                                    sha256_of(o.adapter) + embedded_sha256() + o.why_anew);
  const BuildPlace place(o.folder, o.stem, key, o.suffix);
  std::string changed;
  if (o.why_anew.empty())
    if (std::optional<SealedBuild> found = place.find(hashes, changed)) {
      hashes.remember();
      return described(o, std::move(*found), true);
    }
  if (!changed.empty()) note_of_compilation(changed);

  const fs::path part = at.scratch / "built", log = place.folder() / "compiler.log";
  std::string note;
  try {
    const Announced now(fs::path(o.file.source).filename().string());
    note = o.make(part, log);
  } catch (const InputError&) {
    std::error_code error;
    if (fs::is_regular_file(log, error)) explain(o, read_text(log), log);
    throw;
  }
  if (const std::string file = changed_among(o.read.files); !file.empty())
    throw InputError(file + ": was changed while it was compiled");
  SealedBuild built = place.keep(part, other_files(o, at.scratch, hashes), note);
  hashes.remember();
  if (o.file.build_dir.empty()) evict_old(build_folder(""), cache_limit());
  return described(o, std::move(built), false);
}

}  // namespace assay
