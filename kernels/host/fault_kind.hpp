// What kind of fault a launch ended with, set where the fault is raised. The sentence beside it is for
// people: nothing reads it to find out what happened.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class FaultKind : std::int32_t {
  none,
  other,               // the sentence says all there is
  returned_status,     // the launcher returned an error of its own
  threw,               // the launcher threw an exception
  refused_call,        // the launcher's signature cannot say the call
  other_stream,        // work was not on the stream that the call gave
  trap,                // the kernel called __trap()
  bad_launch,          // a grid, a block or shared memory beyond the machine's
  divergence,          // a barrier or a warp collective that not all threads reach, or reach differently
  shared_overrun,      // shared memory was written past the end of an array
  own_memory_overrun,  // memory that the launcher took itself was written past its end
  wild_access,         // an address outside every buffer
  misaligned,          // a vector access at an address that is no multiple of its size
  died,                // the process ended: aborted, exited
  no_answer,           // nothing came back in time
  memory,              // there was not enough
  time,                // the machine gave it too little
  tool_failed,         // a tool's child ended without a word of the tool
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
                                               "tool_failed"};
inline constexpr int kFaultKinds = static_cast<int>(FaultKind::tool_failed) + 1;
static_assert(kFaultKindNames.size() == kFaultKinds);

constexpr const char* name(FaultKind f) { return kFaultKindNames[static_cast<std::size_t>(f)]; }
constexpr std::optional<FaultKind> parse_fault_kind(std::string_view s) {
  for (int i = 0; i < kFaultKinds; ++i)
    if (s == kFaultKindNames[static_cast<std::size_t>(i)]) return static_cast<FaultKind>(i);
  return {};
}

}  // namespace assay
