// SPDX-License-Identifier: Apache-2.0
// The fast judge runs the element, range and row sum checks on whole matrices of outputs, on the CPU (AVX2)
// or on the GPU where the outputs lie, without building the exact results of each row. A row with anything
// that it cannot pass is judged again by the fast tier with the full bounds, and by MPFR if that leaves
// something undecided. So its verdicts are those of check_case's element check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/fast_judge/fast_element.hpp"
#include "reference/problem.hpp"

namespace assay {

/// Softmax outputs and their logits: `rows` rows of row length V, `pitch` elements apart; host or device
/// pointers.
struct Outputs {
  Dtype in = Dtype::f32, out = Dtype::f32;
  std::int64_t rows = 0, V = 0;
  const void* logits = nullptr;
  std::int64_t in_pitch = 0;
  const void* probs = nullptr;
  std::int64_t out_pitch = 0;
};

struct FastJudgement {
  std::int64_t elements = 0;   // judged
  std::int64_t failed = 0;     // proved to violate a bound
  std::int64_t open = 0;       // elements that the first look could not pass
  std::int64_t rows_open = 0;  // their rows, and the rows it does not judge (NaN, inf, equal logits)
  std::int64_t by_mpfr = 0;    // elements that needed an exp by MPFR
  std::int64_t unjudged = 0;   // elements of special rows: no bound applies (check_case judges those)
  fast::Statistics statistics;
  std::string first_failure;
  void add(const FastJudgement& other);
};

/// Empty, or why the fast judge cannot handle the claim: 16-bit arithmetic, no subtracted maximum, kept exps,
/// f64.
std::string fast_judge_unsupported(const Claim& claim, Dtype in, Dtype out);

/// Judges outputs in host memory. `threads` 0: one per core.
FastJudgement judge_fast(const Claim& claim, Backend backend, const Outputs& outputs, int threads = 0);

/// Judges outputs in device memory, on the selected device. `seconds` (may be null) is set to the time from
/// the first kernel to the last verdict, escalation included. `constants` (may be null) is set to the
/// constants that the device found for every row. Throws std::runtime_error with CUDA's message. Only if
/// built_with_cuda().
FastJudgement judge_fast_on_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                   double* seconds = nullptr,
                                   std::vector<fast::RowConstants>* constants = nullptr);

/// Result of the first look at one row on a device: the number of elements that it could not pass (V if it
/// does not judge the row), the largest error / bound, and the largest ulp error.
struct DeviceRow {
  std::int64_t open = 0;
  double utilisation = 0, max_ulp = 0;
  fast::RowConstants constants;
};
/// Only the first look, at every row; open rows are for judge_row_of_device.
std::vector<DeviceRow> look_on_device(const Claim& claim, Backend backend, const Outputs& outputs);
/// Fetches one row with `open` open elements and judges it as judge_fast_on_device would.
FastJudgement judge_row_of_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                  std::int64_t row, std::int64_t open);

/// Copies outputs in host memory to the selected device and judges them there.
FastJudgement judge_fast_by_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                   std::vector<fast::RowConstants>* constants = nullptr);

/// fast::exp(t[i], t_lo[i]), computed on the device; for tests.
std::vector<double> exps_by_device(const std::vector<double>& t, const std::vector<double>& t_lo);

// The second look of the fast judge: rows with something that the first look could not pass.

/// Judges row `row` of `outputs` with the full bounds; its logits and outputs are given in host memory. It
/// compares first with the fast tier's enclosures, then, element by element, with one MPFR exp over the same
/// s, and last with the MPFR tier. It decides everything that MPFR can decide.
FastJudgement judge_open_row(const Claim& claim, const Terms& terms, const Outputs& outputs, std::int64_t row,
                             const std::byte* logits, const std::byte* probs, std::int64_t open);

/// The same checks on one row by the MPFR tier alone; the reference for the fast judge.
FastJudgement judge_row_by_mpfr(const Claim& claim, const Terms& terms, const Outputs& outputs,
                                std::int64_t row, const std::byte* logits, const std::byte* probs);

}  // namespace assay
