// The registry: every variant x dtype x backend that was compiled in. A variant's file registers itself;
// nothing else names it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/claim.hpp"
#include "reference/problem.hpp"

namespace assay {

/// host: kernel source compiled without FMA contraction; host_fma: the same with it.
enum class Backend { host, host_fma, cuda };

constexpr const char* name(Backend b) {
  return b == Backend::host ? "host" : b == Backend::host_fma ? "host_fma" : "cuda";
}
constexpr bool on_host(Backend b) { return b != Backend::cuda; }

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
};

struct Variant {
  std::string variant;
  Dtype dtype = Dtype::f32;
  Backend backend = Backend::host;
  Op op = Op::softmax;  // its own op; softmax variants also do `normalizer`
  int max_k = 0;        // 0 for ops without k
  Claim claim;
  std::string file;  // source, relative to the project
  void (*run)(const Problem&, const Buffers&, const Stream&) = nullptr;
  std::size_t (*workspace_bytes)(const Problem&) = nullptr;

  std::string key() const { return variant + "/" + name(dtype) + "@" + name(backend); }
  /// Ops this variant answers; for any other the verdict is `unsupported`.
  bool does(Op o) const {
    return o == op || (o == Op::normalizer && (op == Op::softmax || op == Op::softmax_topk));
  }
};

/// Sorted by variant (in order of registration file name), dtype, backend.
const std::vector<Variant>& registry();
const Variant* find_variant(std::string_view key);

/// Called by ASSAY_REGISTER_KERNEL before main.
bool register_variant(Variant v);

}  // namespace assay
