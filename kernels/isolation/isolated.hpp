// Kernels in a process of their own: what may crash, hang or write where it should not, and is judged all the
// same.
//
// The worker gets buffers that belong to this process and a problem, and nothing else: no expected result, no
// bound. It is no jail: a kernel can do to the machine what its user can.
#pragma once

#include <string>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay {

struct IsolationOptions {
  /// Of one launch, and of loading, by the worker's own time (worker_clock.hpp) and its share of the device;
  /// then it is ended: `hung`.
  double timeout_seconds = 20;
  std::string worker = {};  // executable with the `worker` verb; default: $ASSAY_WORKER, or this `assay`
};

/// The same variant, launched in a worker. Throws InputError if no worker can be had or it does not know the
/// key.
Variant isolated(const Variant& registered, const IsolationOptions& options = {});

/// The kernels in a shared object of the C ABI (kernels/plugin.h), sharing one worker; `path#name` and
/// `path#name/f16:f32` mean one of them. Throws InputError with one line: missing, not a shared object, no or
/// a bad entry, a bad declaration, a library that crashes or hangs while it is loaded.
std::vector<Variant> load_plugin(const std::string& path, const IsolationOptions& options = {});

}  // namespace assay
