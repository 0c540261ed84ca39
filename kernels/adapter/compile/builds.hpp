// SPDX-License-Identifier: Apache-2.0
// The parts of a compilation: for a device, for the host executor, and what both end with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/toolchain/compiler.hpp"

namespace assay {

/// What the host compiler watches beside alignment: nothing; the threads (for races); or comparisons and
/// branches (for the search).
enum class Sanitize { none, threads, branches };

CompiledFile compile_for_device(const OneFile& file);
CompiledFile compile_for_host(const OneFile& file, Sanitize sanitize);

/// What the adapter is written from.
AdapterFile adapter_file(const OneFile& file, const std::vector<EntrySignature>& entries);

/// Where compilers work: the one folder that they write, and those that they must see. Several may work there
/// at once.
struct Workplace {
  std::filesystem::path scratch;
  std::vector<std::filesystem::path> read;
  std::int64_t moment = 0;  // when it is compiled, as __DATE__ and __TIME__ say
};

/// A moment in the years 2025 to 2034 that the contents of the files decide: the same contents give the same
/// bytes, and no file knows the day on which it is judged.
std::int64_t moment_of(const std::map<std::filesystem::path, std::string>& texts);

/// Runs a compiler there. Throws InputError with its first errors, with the one word that the executor does
/// not support, or with the limit that it was ended by. `source`: the name of what is compiled, in messages.
/// `kept`: where its log is written if it fails.
void compile_step(const std::string& source, const std::vector<std::string>& words, const Workplace& at,
                  const std::filesystem::path& kept);

/// Asks what the file reads. An InputError is said of the file.
bool can_ask(const OneFile& file, const std::function<bool()>& ask);

/// SHA-256 of all that decides what a command makes, but for the files that it reads.
std::string key_of_command(const std::vector<std::string>& words, const Compiler& compiler);

/// What is to be built, and what goes into it.
struct BuildOrder {
  const OneFile& file;
  const Compiler& compiler;
  std::set<std::filesystem::path> texts = {};   // the author's files, for messages
  std::vector<std::string> words = {};          // the command that compiles the author's file, without -o
  ReadFiles read = {};                          // by their own paths
  std::string adapter = {};                     // the texts that this program adds, and its other commands
  std::vector<std::filesystem::path> own = {};  // folders that this program has written
  std::vector<std::string> objects = {};        // this program's own, which are linked with it
  std::string why_anew = {};           // why nothing may be taken from the cache; empty if something may
  std::filesystem::path folder = {};   // where it is kept
  std::string stem = {}, suffix = {};  // its name there
  bool by_nvcc = false;
  /// Makes the file `part`. Returns a line that is kept with it (CompiledFile::way).
  std::function<std::string(const std::filesystem::path& part, const std::filesystem::path& log)> make;
};

/// Finds what was built from the same files, or makes and seals it. Throws InputError
/// that says what the author can change.
CompiledFile finish_build(const BuildOrder& order, const Workplace& at, SystemHashes& hashes);

/// The lists of what the adapter, and what stands behind the author's file, read; finish_build finds them in
/// the scratch folder.
inline constexpr const char* kAdapterReads = "adapter.d";
inline constexpr const char* kCallsRead = "calls.d";

/// The option with which the linker writes down what it reads; finish_build finds it there. Empty if it can
/// not.
std::vector<std::string> list_what_is_linked(const BuildOrder& order, const Workplace& at);

/// The folders that a compiler must see.
std::vector<std::filesystem::path> folders_to_read(const std::set<std::filesystem::path>& texts,
                                                   const std::vector<std::string>& flags,
                                                   const std::filesystem::path& build);

/// The words as a shell takes them.
std::string command_text(const std::vector<std::string>& words);

}  // namespace assay
