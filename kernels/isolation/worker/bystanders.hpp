// Whether a kernel left something running that could still write: threads or processes.
#pragma once

namespace assay::isolation {

/// Counts the process's threads now; later, whether there are more, or any child.
class Bystanders {
 public:
  /// What the process starts children with: those whose parent is gone become this one's.
  static void adopt_orphans();
  void count();
  bool more() const;

 private:
  long threads_ = 1;
};

}  // namespace assay::isolation
