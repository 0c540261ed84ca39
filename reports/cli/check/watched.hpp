// This program once more, as a child that a tool watches: compute-sanitizer on a GPU, ThreadSanitizer for
// kernels on the host executor. The tool's word is the record.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "accuracy/record.hpp"

namespace assay {

struct Ran {
  int status = -1;  // of the shell
  std::string output;
};

/// Runs a command of the shell; its output holds what it told stderr, too. In it $out is a folder of its own,
/// which goes when it has ended.
Ran shell(const std::string& command);

/// `timeout` ends a child that goes on for too long by the clock with this status.
constexpr int kTimedOut = 124;

/// This program, or the one that $ASSAY_WORKER names where this one is a test.
std::string own_path();

/// `assay check` of these words: a target, and which of its cases. One thread, beside whoever asked. What it
/// writes goes with it.
std::string child_command(const std::string& words, std::uint64_t seed);

/// The child under one of compute-sanitizer's tools. `found`: the first thing that the tool says is wrong.
Ran sanitized(const std::string& tool, const std::string& child, std::string& found);

/// The first line of the output that has any of the words.
std::string line_with(const std::string& output, std::initializer_list<const char*> words);

/// Makes the record. `found`: what the tool itself has to say. A child that ended badly without a word of it
/// shows a fault of the launch, not the one that the tool looks for.
void judge_watched(Record& r, const Ran& ran, Check tool, const std::string& found);

/// Empty, or what compute-sanitizer's groups lack on this machine.
std::string sanitizer_missing();

}  // namespace assay
