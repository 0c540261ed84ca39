// SPDX-License-Identifier: Apache-2.0
// How often the processes of a kernel ended, or stopped, by a signal that anybody may send, and that neither
// this program nor the operating system's want of memory explains. A user may do that once or twice. A kernel
// may do it in every sixtieth call: each of these cases passes when it is tried again.
#pragma once

#include <string>

namespace assay::isolation {

/// More such ends are the kernel's own.
inline constexpr int kMostUnexplainedEnds = 2;

/// Counts one more of this kernel (a key, or the path of a file), and returns how many there are now, over
/// all its workers.
int count_unexplained_end(const std::string& kernel);

/// For tests that look at more than one kernel of a file.
void forget_unexplained_ends();

}  // namespace assay::isolation
