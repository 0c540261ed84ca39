// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/compile/read_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/compiler_run.hpp"
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

}  // namespace assay
