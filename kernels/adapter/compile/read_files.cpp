// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/compile/read_files.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/host_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/toolchain/compiler.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {

namespace fs = std::filesystem;

std::vector<std::string> files_of_rule(std::string_view rule) {
  std::vector<std::string> all;
  std::string name;
  bool targets = true;
  const auto end_name = [&] {
    // "a.o:" or "a.o :" ends what is made.
    if (targets && (name == ":" || name.ends_with(':')))
      targets = false;
    else if (!targets && !name.empty())
      all.push_back(name);
    name.clear();
  };
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\n';
    if (c == '\\' && (next == '\n' || next == '\r')) {
      end_name();
      i += next == '\r' && i + 2 < rule.size() && rule[i + 2] == '\n' ? 2 : 1;
    } else if (c == '\\' && (next == ' ' || next == '#' || next == '\\' || next == ':' || next == '\t')) {
      // GCC doubles a backslash only before a blank.
      const std::size_t blank = rule.find_first_not_of('\\', i);
      if (next == '\\' && (blank == rule.npos || rule[blank] != ' '))
        name += c;
      else
        name += next, ++i;
    } else if (c == '$' && next == '$') {
      name += c, ++i;
    } else if (c == '\n') {
      end_name();
      targets = true;  // the next line is another rule
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return all;
}

namespace {

/// False if the compiler found something wrong. Throws InputError if it was ended by a limit.
bool preprocessed(const CompilerRun& run) {
  const int status = run_compiler(run);
  if (status == 0) return true;
  if (const std::string why = over_a_limit(start_of_log(run.log), status); !why.empty())
    throw InputError(why);
  return false;
}

}  // namespace

ReadFiles hashed(const std::vector<std::string>& files, const Compiler& compiler, SystemHashes& hashes) {
  std::set<std::string> all;
  for (const std::string& f : files) {
    std::error_code error;
    const fs::path real = fs::canonical(f, error);
    if (error || !fs::is_regular_file(real, error))
      throw InputError(f + ": is included, and is no file that can be read");
    all.insert(real.string());
  }
  ReadFiles read;
  for (const std::string& f : all)
    if (is_system_file(f, compiler))
      read.system.push_back({f, hashes.of(f)});
    else
      read.files.push_back({f, sha256_of_file(f)});
  return read;
}

bool ask_host_compiler(const Compiler& compiler, const std::vector<std::string>& words,
                       const fs::path& source, const std::vector<fs::path>& folders, const fs::path& scratch,
                       SystemHashes& hashes, ReadFiles& read) {
  const fs::path list = scratch / "list", text = scratch / "text";
  CompilerRun run{.words = words,
                  .writable = scratch,
                  .log = scratch / "asked",
                  .read = folders,
                  .only_preprocesses = true};
  run.words.insert(run.words.end(),
                   {"-E", "-MD", "-MF", list.string(), "-MT", "made", "-o", text.string(), source.string()});
  if (!preprocessed(run)) return false;
  read = hashed(files_of_rule(read_text(list)), compiler, hashes);
  read.text_sha256 = sha256_of_file(text);
  std::error_code ignored;
  fs::remove(text, ignored);
  return true;
}

bool ask_nvcc(const Compiler& compiler, const std::vector<std::string>& words,
              const std::vector<fs::path>& folders, const fs::path& scratch, SystemHashes& hashes,
              ReadFiles& read) {
  const fs::path list = scratch / "list";
  CompilerRun run{.words = words,
                  .writable = scratch,
                  .log = scratch / "asked",
                  .out = list,
                  .read = folders,
                  .only_preprocesses = true};
  run.words.emplace_back("-M");
  if (!preprocessed(run)) return false;
  read = hashed(files_of_rule(read_text(list)), compiler, hashes);
  return true;
}

void leave_out(ReadFiles& read, const fs::path& folder) {
  std::error_code error;
  const std::string start = fs::canonical(folder, error).string() + "/";
  std::erase_if(read.files, [&](const HashedFile& f) { return f.path.starts_with(start); });
}

std::string hash_of(const ReadFiles& read) {
  Sha256 all;
  all.add(read.text_sha256 + "\n");
  for (const std::vector<HashedFile>* const files : {&read.files, &read.system})
    for (const HashedFile& f : *files) all.add(f.sha256 + ' ' + f.path + '\n');
  return all.hex();
}

// Follows #include from file to file, and searches folders in a compiler's order.

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFiles = 256;

fs::path find_include(const fs::path& from, std::string_view name, bool quoted,
                      const std::vector<fs::path>& folders) {
  std::error_code error;
  if (const fs::path p = from.parent_path() / name; quoted && fs::is_regular_file(p, error))
    return fs::absolute(p).lexically_normal();
  for (const fs::path& f : folders)
    if (const fs::path p = f / name; fs::is_regular_file(p, error)) return fs::absolute(p).lexically_normal();
  return {};
}

}  // namespace

std::vector<fs::path> include_folders(const std::vector<std::string>& flags) {
  std::vector<fs::path> all;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] == "-I" && i + 1 < flags.size())
      all.emplace_back(flags[++i]);
    else if (flags[i].starts_with("-I"))
      all.emplace_back(flags[i].substr(2));
  return all;
}

namespace {

void add_text(const fs::path& path, const std::vector<fs::path>& folders,
              std::map<fs::path, std::string>& all) {
  if (all.size() == kMostFiles || all.contains(path)) return;
  const std::string& text = all[path] = read_text(path);
  for (const SourceToken& t : source_tokens(text)) {
    if (t.kind != SourceToken::directive || t.spelling.find("include") == t.spelling.npos) continue;
    const std::size_t open = t.spelling.find_first_of("\"<");
    const std::size_t close =
        open == t.spelling.npos ? open : t.spelling.find(t.spelling[open] == '<' ? '>' : '"', open + 1);
    if (close == t.spelling.npos) continue;
    if (const fs::path p = find_include(path, t.spelling.substr(open + 1, close - open - 1),
                                        t.spelling[open] == '"', folders);
        !p.empty())
      add_text(p, folders, all);
  }
}

}  // namespace

std::map<fs::path, std::string> included_texts(const fs::path& file, const std::vector<fs::path>& folders) {
  std::map<fs::path, std::string> all;
  add_text(file, folders, all);
  return all;
}

fs::path Rewritten::of(const fs::path& path) {
  if (const auto known = done_.find(path); known != done_.end()) return known->second;
  if (sources_.size() == kMostFiles)
    throw InputError(path.string() + ": " + std::to_string(kMostFiles) + " files or more are included");
  const fs::path target = folder_ / (std::to_string(done_.size()) + "_" + path.filename().string());
  done_[path] = target;
  originals_[target] = path;
  texts_[target] =
      host_source(sources_.at(path), path.string(), [&](std::string_view name, bool quoted) -> std::string {
        if (name.starts_with("kernels/host/")) return (headers_ / name).string();
        const fs::path other = find_include(path, name, quoted, includes_);
        return sources_.contains(other) ? of(other).string() : std::string();
      });
  return target;
}

}  // namespace assay
