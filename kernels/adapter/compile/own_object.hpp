// SPDX-License-Identifier: Apache-2.0
// The author's file as an object of its own, linked with an adapter that does not know it. Where it can be,
// the object is made of the file alone, and the adapter calls it by a prototype. A template's instance, a
// static function or a type of the file's own can be reached only from the file's own unit: there the calls
// stand behind the file, with names that it cannot know. What is compiled of the file is the same in both:
// nothing stands in front of it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/one_file.hpp"

namespace assay {

/// The texts of one build.
struct Units {
  std::string adapter;     // the variants; empty if the file registers itself and there is nothing to add
  std::string prototypes;  // the entries and their calls; empty if the file cannot be called like that
  std::string behind;      // what stands behind the file otherwise; empty if it registers itself
  std::string suffix;      // of the names in `behind`
  std::string why_behind;  // what the certificate says of it: "a template's instance"
  std::set<std::string> exports;                    // names that `behind` exports, without the suffix
  std::vector<std::pair<std::string, bool>> calls;  // the functions of the entries; may it have C's linkage?
};

/// `headers`: the folder of this project's headers. `read`: what the file alone reads. Its names are ended by
/// the hash of all that, so that nothing of it can hold them.
Units units_of(const OneFile& file, const std::vector<EntrySignature>& entries,
               const std::filesystem::path& headers, const ReadFiles& read);

/// How the objects of a build are made and linked. Words are those of command lines.
struct Commands {
  std::vector<std::string> author;    // compiles the author's file; the source, -c and -o come behind them
  std::vector<std::string> adapter;   // compiles the adapter and the prototypes
  std::vector<std::string> link;      // links; the objects and -o come behind them
  std::vector<std::string> link_end;  // come behind the objects
  std::vector<std::string> objects;   // the executor's, of which the author's file may replace nothing
  std::string define;                 // the linker's option that gives a name: "-Wl,--defsym="
  std::filesystem::path alone;        // the file as it is compiled alone
  std::filesystem::path with_calls;   // where the same file with text behind it is to be written
  std::vector<std::string> beside;    // finds there what the file includes from its own folder
  std::string first_line;             // what that begins with: a #line
  std::filesystem::path adapter_source;
};

/// All of it that decides what is built, but for the author's files: for the key of a build.
std::string text_of(const Units& units, const Commands& commands);

/// Compiles and links. Returns the way that was taken, in the words of a certificate: "the file alone, called
/// by its symbol". Throws InputError. `at`: where compilers work, and the objects lie.
std::string build_objects(const OneFile& file, const Units& units, const Commands& commands,
                          const Workplace& at, const std::filesystem::path& target,
                          const std::filesystem::path& log);

}  // namespace assay
