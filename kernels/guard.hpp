// SPDX-License-Identifier: Apache-2.0
// What keeps a kernel from the rest of the machine.
#pragma once

namespace assay {

enum class Guard {
  none,       // it can do what its user can
  landlock,   // Landlock and seccomp: no namespaces, but nothing outside can be written, stopped or reached
  bubblewrap  // namespaces of its own, and these two where they hold more
};

}  // namespace assay
