// SPDX-License-Identifier: Apache-2.0
// Runs the compilers of a build, and says why a file does not compile.
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/compiler_log.hpp"
#include "kernels/adapter/entry/source_tokens.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/toolchain/announce.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/file_writing.hpp"

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

}  // namespace

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

std::string command_text(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) {
    const bool plain = !w.empty() && w.find_first_of(" '\"\\$;&|<>()*?") == w.npos;
    s += (s.empty() ? "" : " ") + (plain ? w : "'" + w + "'");
  }
  return s;
}

CompiledFile finish_build(const OneFile& file, const std::set<fs::path>& texts, const fs::path& target,
                          std::vector<std::string> words, const std::string& version) {
  CompiledFile made;
  made.path = target.string();
  made.compiler = version;
  made.command = command_text(words);
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

}  // namespace assay
