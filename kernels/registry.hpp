// SPDX-License-Identifier: Apache-2.0
// The registry: every compiled combination of variant, dtype and backend. A variant's file registers itself;
// no list names it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/claim.hpp"
#include "reference/problem.hpp"

namespace assay {

/// host: kernel source compiled for the CPU without FMA contraction. host_fma: with contraction. cuda:
/// compiled by nvcc. plugin: an external compiled kernel on host or device memory, launched in a worker
/// process.
enum class Backend { host, host_fma, cuda, plugin };

constexpr const char* name(Backend b) {
  return b == Backend::host       ? "host"
         : b == Backend::host_fma ? "host_fma"
         : b == Backend::cuda     ? "cuda"
                                  : "plugin";
}
constexpr bool on_host(Backend b) { return b == Backend::host || b == Backend::host_fma; }

/// The stream of a launch. `max_blocks` caps the grid (0: the backend's own limit), so that a test can make
/// every block process several rows, or, where blocks have one row each, make a kernel launch several times.
/// Where a cluster of blocks holds a row, it caps the number of clusters.
struct Stream {
  void* handle = nullptr;
  std::int64_t max_blocks = 0;
};

/// Buffers of one launch, in the backend's memory. Pointers that the problem does not need may be null. Rows
/// of probs (of values, for op topk) and of indices are out_pitch apart; m and d hold one float per row.
struct Buffers {
  const void* logits = nullptr;
  void* probs = nullptr;
  void* indices = nullptr;
  float* m = nullptr;
  float* d = nullptr;
  void* workspace = nullptr;
  // The buffers of Problem::operands. Rows of a mask or bias have the pitch of the logits.
  const void* mask = nullptr;
  const void* bias = nullptr;
  const void* lengths = nullptr;
  const float* temperatures = nullptr;
  /// For a backward pass: the gradients dy of the outputs, rows in_pitch apart.
  const void* gradients = nullptr;
};

class Launcher;

/// A few row lengths, in ascending order.
struct RowLengths {
  static constexpr int kMost = 32;
  std::array<std::int64_t, kMost> all{};
  int count = 0;

  constexpr bool contains(std::int64_t V) const {
    for (int i = 0; i < count; ++i)
      if (all[static_cast<std::size_t>(i)] == V) return true;
    return false;
  }
};

/// The limits of what a kernel is made for. A case outside is `unsupported: domain`.
struct Limits {
  std::int64_t max_V = 0;          // 0: none
  std::int64_t min_V = 0;          // smallest row length
  std::int64_t min_rows = 0;       // smallest number of rows in a launch
  std::int64_t max_rows = 0;       // largest number of rows in a launch; 0: any
  std::int64_t rows_multiple = 1;  // the number of rows is a multiple of this
  std::int64_t V_multiple = 1;     // V is a multiple of this
  RowLengths V_in = {};            // the only row lengths; empty: any
  std::int64_t max_elements = 0;   // largest rows x V of a launch; 0: any
  double max_abs = 0;              // largest magnitude of a finite logit; 0: any
  std::int64_t alignment = 0;      // every row starts at a multiple of so many bytes; 0: of its element size
  bool dense = false;              // rows lie V apart, without gaps
  bool finite = false;             // no infinity and no NaN in the logits
  bool k_up_to_V = false;          // k is at most V: no slot of a top-k is ever empty
};

/// Limits of an external kernel that declares nothing: empty rows, and launches of no rows, are outside.
constexpr Limits undeclared_limits() {
  Limits l;
  l.min_V = l.min_rows = 1;
  return l;
}

/// What the sweep takes a kernel for. It times the first shapes of some before all others.
enum class Pace {
  usual,
  reference,  // the others are compared with it
  copy,       // it is to run at the speed of a copy
  thread,     // one thread has a row, and needs more than a second for long ones
};

struct Variant {
  std::string variant;
  Dtype dtype = Dtype::f32;             // type of the logits
  std::optional<Dtype> out_dtype = {};  // type of the outputs, if it differs
  Backend backend = Backend::host;
  Op op = Op::softmax;  // its own op; softmax variants also do `normalizer`
  int max_k = 0;        // 0 for ops without k
  Claim claim;
  std::string file;  // source file, relative to the project
  /// Launches in this process; empty if `launcher` is set.
  std::function<void(const Problem&, const Buffers&, const Stream&)> run = {};
  std::function<std::size_t(const Problem&)> workspace_bytes = {};
  /// Launches in another process; null if `run` is set.
  std::shared_ptr<Launcher> launcher = {};
  Limits limits = {};
  /// What the kernel reads besides the logits.
  Operands operands = {};
  Pace pace = Pace::usual;
  /// False if the kernel writes no (m, d) beside its outputs.
  bool writes_normalizer = true;
  /// False if the kernel takes no stream and uses the default one. Cases that need a stream are
  /// `unsupported`.
  bool own_stream = true;
  /// True for a plugin that runs on the host executor, so that its launches take a schedule.
  bool on_executor = false;
  /// False if nothing was declared: the kernel is judged by BOUNDS.md section 6.
  bool declared = true;
  /// The words after `assay check` that name this candidate; empty for a registered key.
  std::string origin = {};

  Dtype out() const { return out_dtype.value_or(dtype); }
  std::string key() const {
    std::string types = name(dtype);
    if (out() != dtype) types += std::string(":") + name(out());
    return variant + "/" + types + "@" + name(backend);
  }
  /// True for the ops that this variant computes; for any other op the verdict is `unsupported`. A plugin is
  /// called only with its own op: its (m, d) are judged beside its values.
  bool does(Op o) const {
    return o == op || (o == Op::normalizer && writes_normalizer && backend != Backend::plugin &&
                       (op == Op::softmax || op == Op::softmax_topk));
  }
};

/// Sorted by variant (by the name of the file that registers it), dtype, backend.
const std::vector<Variant>& registry();
const Variant* find_variant(std::string_view key);

/// Called by ASSAY_REGISTER_KERNEL before main.
bool register_variant(Variant v);

}  // namespace assay
