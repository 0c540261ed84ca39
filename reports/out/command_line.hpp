// SPDX-License-Identifier: Apache-2.0
// The command line of this run: it is printed so that somebody can go on with the run, and it is compared so
// that nobody goes on with another one.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay {

/// The words after "assay". Called once, before a command runs.
void set_command_line(std::vector<std::string> words);

/// "assay check safe_block/f32@host --quick --resume", quoted for a shell.
std::string command_to_resume();

/// "check": the first word.
std::string command_verb();

/// The words of the command without these flags, and without these options and their values.
std::vector<std::string> words_without(const std::vector<std::string>& flags,
                                       const std::vector<std::string>& valued);

/// The words as a line, without those that change no record (--resume, --shared, --json, --out, --threads,
/// --junit and --device), and without these options and their values.
std::string command_compared(const std::vector<std::string>& also_without = {});

/// The command has this option with this value, as its last one: what it had of the option before is gone.
/// The words behind "--" stay behind it.
void set_option_of_command(const std::string& option, const std::string& value);

/// Notes a file that is judged, or that what is judged was made of, although no word names it: what a source
/// includes, a module of Python. `sha256`: of its bytes. From any thread.
void note_read(const std::string& path, const std::string& sha256);
/// Notes what is loaded and judged: a shared object that was compiled. Another machine may make other bytes
/// of the same sources, so the parts of a run need not agree in it; a run that goes on must.
void note_binary(const std::string& path, const std::string& sha256);

/// The SHA-256 of the contents of all files that the words name: kernels, logits. Empty if there are none.
std::string hash_of_named_files();
/// The same with the files that were noted as read.
std::string hash_of_read_files();
/// The files that were noted as read, and their SHA-256.
std::map<std::string, std::string> noted_files();
/// Of the binaries that were noted; empty if there are none.
std::string hash_of_binaries();

}  // namespace assay
