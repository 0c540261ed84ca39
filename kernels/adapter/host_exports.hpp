// SPDX-License-Identifier: Apache-2.0
// What a plugin on the host executor exports beside its entry: how its launches are run. Only the adapter
// includes it, so that no word of it is in the author's unit.
#pragma once

#include <cstdint>

#include "kernels/host/executor.hpp"

/// Sets how the next launches of this thread are scheduled (kernels/host/executor.hpp). `max_blocks` is for
/// launchers with a cap on their grid, which these do not have.
extern "C" __attribute__((visibility("default"))) void assay_executor_control(std::uint64_t schedule,
                                                                              std::int64_t) {
  ::assay::executor::set_schedule({schedule});
}
/// For two launches at the same time (kernels/host/executor.hpp, take_turns).
extern "C" __attribute__((visibility("default"))) void assay_executor_turns(void (*turn)(int)) {
  ::assay::executor::take_turns(turn);
}
/// For a launch too large to run whole: the rows whose blocks run. No rows: all blocks.
extern "C" __attribute__((visibility("default"))) void assay_executor_rows(const std::int64_t* rows,
                                                                           std::uint64_t count,
                                                                           std::int64_t per_block) {
  ::assay::executor::choose_blocks(::assay::executor::owners_of({rows, rows + count}, per_block));
}
