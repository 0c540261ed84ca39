// SPDX-License-Identifier: Apache-2.0
// The command line of this run: it is printed so that somebody can go on with the run, and it is compared so
// that nobody goes on with another one.
#pragma once

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

/// A number from the contents of all files that the words name: kernels, logits. 0 if there are none.
std::string hash_of_named_files();

}  // namespace assay
