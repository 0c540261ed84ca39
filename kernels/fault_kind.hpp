// SPDX-License-Identifier: Apache-2.0
// The kind of fault that ended a launch, set where the fault is raised. The sentence beside it is for people:
// no code reads it to find out what happened.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class FaultKind : std::int32_t {
  none,
  other,               // only the sentence says what it is
  returned_status,     // the launcher returned an error of its own
  threw,               // the launcher threw an exception
  refused_call,        // the launcher's signature cannot express the call
  other_stream,        // work was not on the stream that the call passed
  trap,                // the kernel called __trap()
  bad_launch,          // a grid, a block or shared memory beyond the machine's limits
  divergence,          // threads miss a barrier or a warp collective, or reach different ones
  shared_overrun,      // shared memory was written past the end of an array
  own_memory_overrun,  // memory that the launcher allocated was written past its end
  wild_access,         // an address outside every buffer
  misaligned,          // a vector access at an address that is no multiple of its size
  died,                // the process ended: aborted, exited
  no_answer,           // nothing came back in time
  memory,              // not enough memory
  time,                // the machine gave the launch too little time
  tool_failed,         // a tool's child process ended without a word from the tool
  stopped,             // a signal stopped the process, so that nothing came back
};

inline constexpr std::array kFaultKindNames = {"none",
                                               "other",
                                               "returned_status",
                                               "threw",
                                               "refused_call",
                                               "other_stream",
                                               "trap",
                                               "bad_launch",
                                               "divergence",
                                               "shared_overrun",
                                               "own_memory_overrun",
                                               "wild_access",
                                               "misaligned",
                                               "died",
                                               "no_answer",
                                               "memory",
                                               "time",
                                               "tool_failed",
                                               "stopped"};
inline constexpr int kFaultKinds = static_cast<int>(FaultKind::stopped) + 1;
static_assert(kFaultKindNames.size() == kFaultKinds);

constexpr const char* name(FaultKind f) { return kFaultKindNames[static_cast<std::size_t>(f)]; }
constexpr std::optional<FaultKind> parse_fault_kind(std::string_view s) {
  for (int i = 0; i < kFaultKinds; ++i)
    if (s == kFaultKindNames[static_cast<std::size_t>(i)]) return static_cast<FaultKind>(i);
  return {};
}
/// True if the launch was refused, by the kernel or by the machine: an error returned, an exception, a launch
/// or a misaligned address that the machine refuses, a trap, an exit of the process. Nothing is silently
/// wrong then. False for a hang, a read or write outside the buffers, and a race.
constexpr bool says_no(FaultKind f) {
  using enum FaultKind;
  return f == returned_status || f == threw || f == refused_call || f == trap || f == bad_launch ||
         f == misaligned || f == died;
}
/// Accepts any number, because it comes from a message.
constexpr FaultKind fault_kind_of(std::int32_t n) {
  return n >= 0 && n < kFaultKinds ? static_cast<FaultKind>(n) : FaultKind::other;
}

}  // namespace assay
