// SPDX-License-Identifier: Apache-2.0
// What a compilation reads, as the compiler itself says. Nobody else knows it: a header may be found by -I,
// be named by a macro or by -include, or be one that shadows another since yesterday.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/compiler.hpp"

namespace assay {

/// The files of a rule for make: "a.o: a.cu \ a.h". Names may have blanks.
std::vector<std::string> files_of_rule(std::string_view rule);

struct ReadFiles {
  std::vector<HashedFile> files;   // of the author's project: sorted by path, without links
  std::vector<HashedFile> system;  // of the machine and the compiler
  std::string text_sha256 = {};    // of the source after preprocessing; empty for nvcc
};

/// Hashes the files. Throws InputError if one is no regular file or can not be read.
ReadFiles hashed(const std::vector<std::string>& files, const Compiler& compiler, SystemHashes& hashes);

/// Asks a host compiler: `words` with which it compiles, `source` what. The source after preprocessing is
/// hashed, too:
/// __has_include shows there, and nowhere else. False if it does not preprocess; then compiling tells why.
bool ask_host_compiler(const Compiler& compiler, const std::vector<std::string>& words,
                       const std::filesystem::path& source, const std::vector<std::filesystem::path>& folders,
                       const std::filesystem::path& scratch, SystemHashes& hashes, ReadFiles& read);

/// Asks nvcc, which preprocesses once for each architecture and once for the host. `words`: with all sources.
bool ask_nvcc(const Compiler& compiler, const std::vector<std::string>& words,
              const std::vector<std::filesystem::path>& folders, const std::filesystem::path& scratch,
              SystemHashes& hashes, ReadFiles& read);

/// Leaves out what lies in this folder: this program has written it itself, from what it has hashed.
void leave_out(ReadFiles& read, const std::filesystem::path& folder);

/// The whole as one hash, for the key of a build.
std::string hash_of(const ReadFiles& read);

// The author's files that a file includes: found, and rewritten for the host executor.

/// The folders of -I. Quoted includes are searched for there, too.
std::vector<std::filesystem::path> include_folders(const std::vector<std::string>& flags);

/// The file and the author's files that it includes by a name that stands in it: in quotes, or in <...> from
/// a folder of -I. A name that a macro gives is not among them, and of very many files only the first are.
/// Throws InputError.
std::map<std::filesystem::path, std::string> included_texts(
    const std::filesystem::path& file, const std::vector<std::filesystem::path>& folders);

/// Such texts, each rewritten for the executor, and the names they get.
class Rewritten {
 public:
  Rewritten(std::filesystem::path folder, std::vector<std::filesystem::path> includes,
            const std::map<std::filesystem::path, std::string>& sources, std::filesystem::path headers)
      : folder_(std::move(folder)),
        includes_(std::move(includes)),
        sources_(sources),
        headers_(std::move(headers)) {}

  std::filesystem::path of(const std::filesystem::path& path);
  const std::map<std::filesystem::path, std::string>& texts() const { return texts_; }
  /// The author's file of each.
  const std::map<std::filesystem::path, std::filesystem::path>& originals() const { return originals_; }

 private:
  std::filesystem::path folder_;
  std::vector<std::filesystem::path> includes_;
  const std::map<std::filesystem::path, std::string>& sources_;
  std::filesystem::path headers_;
  std::map<std::filesystem::path, std::filesystem::path> done_, originals_;
  std::map<std::filesystem::path, std::string> texts_;
};

}  // namespace assay
