// SPDX-License-Identifier: Apache-2.0
// A synthetic sweep for the page's tests, with all variants and peers that the page names. The times are
// computed from bytes, launches and row lengths. No kernel runs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reports/sweep/data/record.hpp"

namespace assay::sweep_test_data {

struct Kernel {
  const char *name, *role, *op;
  int loads, stores;
  double efficiency;  // speed of its accesses as a share of the copy's speed
  std::int64_t most;  // the largest V that it supports
};

inline const std::vector<Kernel> kKernels = {
    {"naive_block", "variant", "softmax", 2, 1, 0.95, 1 << 21},
    {"safe_block", "variant", "softmax", 3, 1, 0.94, 1 << 21},
    {"online_block", "variant", "softmax", 2, 1, 0.93, 1 << 21},
    {"online_warp", "variant", "softmax", 2, 1, 0.91, 32768},
    {"naive_block_sized", "variant", "softmax", 2, 1, 0.7, 1 << 21},
    {"safe_block_sized", "variant", "softmax", 3, 1, 0.7, 1 << 21},
    {"online_block_sized", "variant", "softmax", 2, 1, 0.68, 1 << 21},
    {"three_kernel_safe_thread", "variant", "softmax", 3, 2, 0.1, 8192},
    {"fused_safe_thread", "variant", "softmax", 2, 1, 0.12, 8192},
    {"online_recurrence_thread", "variant", "softmax", 1, 1, 0.13, 8192},
    {"tree_five_access_block", "variant", "softmax", 3, 2, 0.8, 1 << 21},
    {"shuffle_five_access_block", "variant", "softmax", 3, 2, 0.81, 1 << 21},
    {"register_float4_warp", "variant", "softmax", 1, 1, 0.9, 8192},
    {"fragment_tree_block", "variant", "softmax", 1, 1, 0.85, 1 << 21},
    {"single_thread_block", "variant", "softmax", 3, 1, 0.02, 32768},
    {"vector_tree_block", "variant", "softmax", 3, 2, 0.9, 1 << 21},
    {"vector_shuffle_block", "variant", "softmax", 3, 2, 0.91, 1 << 21},
    {"onepass_fast", "variant", "softmax", 1, 1, 0.97, 1 << 21},
    {"onepass_lse_fast", "variant", "lse", 1, 0, 0.97, 1 << 21},
    {"lse_block", "variant", "lse", 1, 0, 0.9, 1 << 21},
    {"safe_then_topk", "variant", "softmax_topk", 4, 1, 0.6, 1 << 21},
    {"online_then_topk", "variant", "softmax_topk", 3, 1, 0.6, 1 << 21},
    {"safe_topk_block", "variant", "softmax_topk", 2, 0, 0.7, 1 << 21},
    {"online_topk_block", "variant", "softmax_topk", 1, 0, 0.6, 1 << 21},
    {"safe_then_topk_sized", "variant", "softmax_topk", 4, 1, 0.5, 1 << 21},
    {"safe_topk_block_sized", "variant", "softmax_topk", 2, 0, 0.5, 1 << 21},
    {"online_topk_block_sized", "variant", "softmax_topk", 1, 0, 0.5, 1 << 21},
    {"cudnn_accurate", "peer", "softmax", -1, -1, 0.5, 1 << 21},
    {"torch_softmax", "peer", "softmax", -1, -1, 0.55, 1 << 21},
    {"triton_row", "peer", "softmax", -1, -1, 0.9, 65536},
    {"torch_softmax_topk", "peer", "softmax_topk", -1, -1, 0.1, 1 << 21},
    {"onepass_topk", "variant", "softmax_topk", 1, 0, 0.9, 1 << 21}};

inline const std::vector<std::int64_t> kSizes = {63,    128,   512,    1000,   1008,   1024,   2048,  4032,
                                                 4096,  8192,  14080,  16128,  16384,  25000,  32768, 50257,
                                                 64512, 65536, 129024, 131072, 262144, 1032192};

inline SweepRecord record(const Kernel& k, const std::string& dtype, std::int64_t rows, std::int64_t V,
                          int topk, std::mt19937& random) {
  const auto jitter = [&](double lo, double hi) { return std::uniform_real_distribution<>(lo, hi)(random); };
  SweepRecord r;
  r.key = std::string(k.name) + "/" + dtype + "@cuda";
  r.role = k.role, r.backend = "cuda", r.op = k.op, r.dtype = dtype, r.rows = rows, r.V = V, r.k = topk;
  r.family = "normal_1", r.seed = 1, r.distinct_rows = 1, r.gpu = "NVIDIA Synthetic", r.driver = "1.2";
  r.cuda = "13.0", r.compiler = "nvcc 13.0.88", r.flags = "-O3", r.commit = "0123456789ab";
  r.sm_clock_mhz = 1980, r.sm_clock_now_mhz = std::round(jitter(1700, 1980)), r.mem_clock_mhz = 3201;
  r.cold = "8 buffer pairs in turn, 512 MiB";
  r.reproduce =
      "assay sweep --key " + r.key + " --rows " + std::to_string(rows) + " --V " + std::to_string(V);
  const std::int64_t size = dtype == "f32" ? 4 : 2;
  const bool reads = r.op != "softmax";
  r.bytes = rows * V * size * (reads ? 1 : 2);
  if (V > k.most) {
    r.status = Status::unsupported, r.reason = "domain: V above " + std::to_string(k.most);
    return r;
  }
  const double bytes = static_cast<double>(r.bytes), launch = 2.2;
  r.empty_us = launch;
  r.copy_us = launch + bytes / 4.26e6, r.read_us = launch + bytes / 4.5e6;
  double accesses = k.loads < 0 ? 2 : k.loads + k.stores;
  if (static_cast<double>(rows * V * size) < 60e6 || V * size < 36000)
    accesses = std::min(accesses, reads ? 1.0 : 2.0);
  const double slow = topk > 0 && k.loads == 1 ? 1 + (topk - 5) * 0.2 : 1;
  const double us =
      (launch + static_cast<double>(rows * V * size) * accesses / 4.26e6 / k.efficiency * slow) *
      jitter(0.99, 1.05);
  r.status = Status::pass, r.samples = 10, r.launches_per_sample = 4;
  r.median_us = us, r.p10_us = us * 0.99, r.p90_us = us * 1.02, r.ci_low_us = us * 0.995,
  r.ci_high_us = us * 1.005;
  for (int i = 0; i < 10; ++i) r.times_us.push_back(us * jitter(0.99, 1.02));
  if (k.loads >= 0) r.claimed_loads = k.loads, r.claimed_stores = k.stores;
  r.share_of_copy = *r.copy_us / us, r.share_of_read = *r.read_us / us;
  r.gb_per_s = bytes / us / 1e3, r.share_of_datasheet = *r.gb_per_s / 4800;
  r.accesses_at_copy_speed = us * (bytes / *r.copy_us) / static_cast<double>(rows * V * size);
  r.verified = Status::pass, r.verified_elements = rows * V;
  r.max_ulp = dtype == "f32" ? jitter(2, 4) * (1 + k.efficiency) : 0.5 + jitter(0, 0.01);
  r.max_utilisation = jitter(0.2, 0.95);
  return r;
}

inline std::vector<SweepRecord> records(const std::vector<std::string>& dtypes = {"f32", "f16"},
                                        const std::vector<std::int64_t>& all_rows = {4000, 10, 1}) {
  std::mt19937 random(7);
  std::vector<SweepRecord> out;
  for (const Kernel& k : kKernels)
    for (const std::string& d : dtypes)
      for (const std::int64_t rows : all_rows)
        for (const std::int64_t V : kSizes) {
          if (std::string_view(k.op) != "softmax_topk")
            out.push_back(record(k, d, rows, V, 0, random));
          else
            for (const int topk : {5, 10, 15, 30}) out.push_back(record(k, d, rows, V, topk, random));
        }
  for (const std::int64_t V : {512, 1024, 2048, 4096, 8192})
    for (const Kernel& k : kKernels)
      if (std::string_view(k.name).ends_with("_thread"))
        for (const std::int64_t rows : {32, 64}) out.push_back(record(k, "f16", rows, V, 0, random));
  return out;
}

/// Plausible access records of the kernels: from the host executor and from a GPU's counters.
inline std::vector<AccessRecord> accesses() {
  std::vector<AccessRecord> out;
  for (const Kernel& k : kKernels) {
    if (k.loads < 0) continue;
    for (const std::int64_t V : {1024, 4096, 8192, 32768, 262144}) {
      if (V > k.most) continue;
      AccessRecord host;
      host.key = std::string(k.name) + "/f32@host", host.source = "host counters";
      host.claimed_loads = k.loads, host.claimed_stores = k.stores, host.rows = 4, host.V = V;
      host.k = std::string_view(k.op) == "softmax_topk" ? 5 : 0;
      // Two of the tutorial's kernels read once more than their own count says.
      const bool more = std::string_view(k.name) == "fused_safe_thread" ||
                        std::string_view(k.name) == "online_recurrence_thread";
      host.loads = k.loads + more, host.stores = k.stores;
      out.push_back(host);
      AccessRecord gpu = host;
      gpu.key = std::string(k.name) + "/f32@cuda", gpu.source = "ncu", gpu.rows = 4000,
      gpu.gpu = "NVIDIA Synthetic";
      gpu.l2_read = *host.loads, gpu.l2_write = *host.stores;
      gpu.dram_read = V < 8192 ? 1.0 : *host.loads * 1.01,
      gpu.dram_write = k.stores > 0 ? 0.97 * k.stores : 0.0;
      gpu.loads.reset(), gpu.stores.reset();
      gpu.registers =
          std::string_view(k.name) == "register_float4_warp" ? std::min<double>(255, 24 + V / 32.0) : 32;
      gpu.local_bytes = std::string_view(k.name) == "register_float4_warp" && V >= 8192 ? 6.4 : 0;
      gpu.occupancy = 0.9,
      gpu.sectors_per_request = std::string_view(k.name).ends_with("_thread") ? 31.5 : 15.9;
      gpu.instructions_per_element = 6 + 4 * k.loads, gpu.issue_share = 0.3 * k.efficiency;
      gpu.dram_share = 0.93 * k.efficiency, gpu.time_us = 600, gpu.kernels = 1;
      out.push_back(gpu);
    }
  }
  return out;
}

}  // namespace assay::sweep_test_data
