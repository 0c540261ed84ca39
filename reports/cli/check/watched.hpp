// SPDX-License-Identifier: Apache-2.0
// Runs this program again as a child that a tool monitors: compute-sanitizer on a GPU, ThreadSanitizer for
// kernels on the host executor. What the tool reports becomes the record.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

struct Ran {
  int status = -1;  // exit status of the shell
  std::string output;
  std::vector<Record> records = {};  // those that a child wrote into its folder
};

/// Runs a shell command. The output includes stderr. In the command, $out is a new folder, deleted at the
/// end. A file records.jsonl in it is read before. `running` holds the shell's process while it runs, else 0.
Ran shell(const std::string& command, std::atomic<pid_t>* running = nullptr);

/// Exit status of `timeout` if it ended a child that ran too long in wall time.
constexpr int kTimedOut = 124;

/// Words before a command of `shell` that leave it only the variables of these lists of NAME=VALUE, as this
/// process has them. The others are taken away by name, so that no command line, which other users of the
/// machine can read, holds a value.
std::string environment_of(std::initializer_list<std::vector<std::string>> kept);

/// Path of this program, or in a test the program that $ASSAY_WORKER names.
std::string own_path();

/// The command `assay check` with these words: a target, and which of its cases. One thread; it does not wait
/// for the GPU's lock. The files that it writes are deleted with it.
std::string child_command(const std::string& words, std::uint64_t seed);

/// Runs the child under one of compute-sanitizer's tools. `found`: the first error that the tool reports. The
/// status is 0 if the child judged its cases right, or only launched and every launch came back. It is not 0
/// if the tool gave no summary, because then it has shown nothing. SIGTERM to `running` ends the tool and all
/// that it started.
Ran sanitized(const std::string& tool, const std::string& child, std::string& found,
              std::atomic<pid_t>* running = nullptr);

/// The first line of the output that contains any of the words.
std::string line_with(const std::string& output, std::initializer_list<const char*> words);

/// Fills the record. `found`: what the tool reports. If the child failed and the tool reports nothing, it is
/// a fault of the launch, not the kind of fault that the tool looks for.
void judge_watched(Record& r, const Ran& ran, Check tool, const std::string& found);

/// Empty, or why no group may use compute-sanitizer: this machine lacks it, or --sandbox was given.
std::string sanitizer_missing();

/// The tool ran the kernel outside of its sandbox, and the record says so.
void say_unsandboxed(Record& r);

}  // namespace assay
