// SPDX-License-Identifier: Apache-2.0
// System calls that the operating system refuses a kernel in a sandbox: namespaces and read-only files do not
// keep it from them.
#pragma once

#include <optional>

namespace assay::isolation {

/// What a worker may use. With a GPU it is in the process namespace of the machine, and CUDA needs a Unix
/// socket.
enum class Uses { host, gpu };

/// True if this machine can refuse single calls.
bool can_refuse_calls();

/// No namespace holds the process, but this version of Landlock's rules does (`keep_to`).
struct Alone {
  int landlock = 0;
  bool changes_rights = false;  // of files: a compiler makes what it has linked executable
};

/// Refuses them to this thread, from now on, and to all that it starts. False if that failed. Of a process
/// that is alone more is refused.
bool refuse_calls(Uses uses, std::optional<Alone> alone = {});

}  // namespace assay::isolation
