// SPDX-License-Identifier: Apache-2.0
// Finds out whether a kernel left threads or processes running, which could still write.
#pragma once

namespace assay::isolation {

/// `count` counts the process's threads. Later, `more` says whether there are more, or any child process.
class Bystanders {
 public:
  /// Makes this process the parent of any descendant whose own parent has ended.
  static void adopt_orphans();
  void count();
  bool more() const;

 private:
  long threads_ = 1;
};

}  // namespace assay::isolation
