// The registry: every variant x dtype x backend that was compiled in. A variant's file registers itself;
// nothing else names it.
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

/// host: kernel source compiled without FMA contraction; host_fma: the same with it; plugin: somebody else's
/// compiled kernel, on host or device memory, launched in a worker process.
enum class Backend { host, host_fma, cuda, plugin };

constexpr const char* name(Backend b) {
  return b == Backend::host       ? "host"
         : b == Backend::host_fma ? "host_fma"
         : b == Backend::cuda     ? "cuda"
                                  : "plugin";
}
constexpr bool on_host(Backend b) { return b == Backend::host || b == Backend::host_fma; }

/// Where a launch goes. `max_blocks` caps the grid (0: the backend's own limit), so that a test can make
/// every block walk several rows.
struct Stream {
  void* handle = nullptr;
  std::int64_t max_blocks = 0;
};

/// Buffers of one launch, on the backend's memory. Pointers a problem does not need may be null; probs
/// (values, for op topk) and indices are rows out_pitch apart, m and d are one float per row.
struct Buffers {
  const void* logits = nullptr;
  void* probs = nullptr;
  void* indices = nullptr;
  float* m = nullptr;
  float* d = nullptr;
  void* workspace = nullptr;
  // Of Problem::operands. Rows of a mask and of a bias are as far apart as those of the logits.
  const void* mask = nullptr;
  const void* bias = nullptr;
  const void* lengths = nullptr;
  const float* temperatures = nullptr;
  /// Of a backward pass: what comes down from the outputs, rows in_pitch apart.
  const void* gradients = nullptr;
};

class Launcher;

/// A few row lengths, ascending.
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

/// What a kernel is not made for. Outside, a case is `unsupported: domain`.
struct Limits {
  std::int64_t max_V = 0;          // 0: none
  std::int64_t min_V = 0;          // shortest row
  std::int64_t min_rows = 0;       // fewest rows of a launch
  std::int64_t max_rows = 0;       // most rows of a launch; 0: any number
  std::int64_t rows_multiple = 1;  // the number of rows is a multiple of this
  std::int64_t V_multiple = 1;     // V is a multiple of this
  RowLengths V_in = {};            // the only row lengths; none: any
  std::int64_t max_elements = 0;   // most rows x V of a launch; 0: any number
  double max_abs = 0;              // finite logits are no larger in size; 0: any
  std::int64_t alignment = 0;      // bytes every row start is a multiple of; 0: that of its element
  bool dense = false;              // rows lie V apart, without gaps
  bool finite = false;             // finite logits only
  bool k_up_to_V = false;          // k at most V: no slot of a top-k is ever empty
};

/// Of a kernel from elsewhere whose author promised nothing: empty rows, and no rows, were not promised.
constexpr Limits undeclared_limits() {
  Limits l;
  l.min_V = l.min_rows = 1;
  return l;
}

struct Variant {
  std::string variant;
  Dtype dtype = Dtype::f32;             // of the logits
  std::optional<Dtype> out_dtype = {};  // of the outputs, where it is another
  Backend backend = Backend::host;
  Op op = Op::softmax;  // its own op; softmax variants also do `normalizer`
  int max_k = 0;        // 0 for ops without k
  Claim claim;
  std::string file;  // source, relative to the project
  /// In this process; empty where `launcher` is set.
  std::function<void(const Problem&, const Buffers&, const Stream&)> run = {};
  std::function<std::size_t(const Problem&)> workspace_bytes = {};
  /// Where the launches happen, if not in this process.
  std::shared_ptr<Launcher> launcher = {};
  Limits limits = {};
  /// What it reads besides the logits.
  Operands operands = {};
  /// False where the kernel writes no (m, d) beside its outputs.
  bool writes_normalizer = true;
  /// False: it takes no stream and works on the default one; what streams show is `unsupported`.
  bool own_stream = true;
  /// A plugin whose launches take a schedule: it runs on the host executor.
  bool on_executor = false;
  /// Nothing was declared: judged as BOUNDS.md section 6 says.
  bool declared = true;
  /// The words after `assay check` that name this candidate; empty for registered keys.
  std::string origin = {};

  Dtype out() const { return out_dtype.value_or(dtype); }
  std::string key() const {
    std::string types = name(dtype);
    if (out() != dtype) types += std::string(":") + name(out());
    return variant + "/" + types + "@" + name(backend);
  }
  /// Ops this variant answers; for any other the verdict is `unsupported`. A plugin's entry is called with
  /// its own op only: its (m, d) are judged beside its values.
  bool does(Op o) const {
    return o == op || (o == Op::normalizer && writes_normalizer && backend != Backend::plugin &&
                       (op == Op::softmax || op == Op::softmax_topk));
  }
};

/// Sorted by variant (in order of registration file name), dtype, backend.
const std::vector<Variant>& registry();
const Variant* find_variant(std::string_view key);

/// Called by ASSAY_REGISTER_KERNEL before main.
bool register_variant(Variant v);

}  // namespace assay
