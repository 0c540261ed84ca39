// The fast judge: the element, range and row sum checks of whole matrices of outputs, on the CPU (AVX2) or
// where the outputs lie on a GPU, without building a truth per row. Rows with anything it cannot pass are
// judged again by the fast tier with the full bounds, and by MPFR where that leaves something undecided: its
// verdicts are those of check_case's element check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/fast_judge/fast_element.hpp"
#include "reference/problem.hpp"

namespace assay {

/// Softmax outputs beside their logits: rows x V, rows `pitch` elements apart; host or device pointers.
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
  std::int64_t open = 0;       // elements the first look could not pass
  std::int64_t rows_open = 0;  // their rows, and rows it does not judge (NaN, inf, equal logits)
  std::int64_t by_mpfr = 0;    // elements that needed an exp by MPFR
  std::int64_t unjudged = 0;   // elements of special rows: no bound applies (check_case judges those)
  fast::Statistics statistics;
  std::string first_failure;
  void add(const FastJudgement& other);
};

/// Empty, or why the fast judge cannot serve the claim: 16-bit arithmetic, no subtracted maximum, kept exps,
/// f64.
std::string fast_judge_unsupported(const Claim& claim, Dtype in, Dtype out);

/// Host memory. `threads` 0: one per core.
FastJudgement judge_fast(const Claim& claim, Backend backend, const Outputs& outputs, int threads = 0);

/// Device memory, on the selected device. `seconds` (may be null) gets the time from the first kernel to the
/// last verdict, escalation included; `constants` (may be null) what the device found of every row. Throws
/// std::runtime_error with CUDA's words; only where built_with_cuda().
FastJudgement judge_fast_on_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                   double* seconds = nullptr,
                                   std::vector<fast::RowConstants>* constants = nullptr);

/// What the first look on a device says of one row: how many elements it could not pass (V where it does not
/// judge the row), the largest error / bound, and the largest ulp error.
struct DeviceRow {
  std::int64_t open = 0;
  double utilisation = 0, max_ulp = 0;
  fast::RowConstants constants;
};
/// The first look alone, at every row; what is open is for judge_row_of_device.
std::vector<DeviceRow> look_on_device(const Claim& claim, Backend backend, const Outputs& outputs);
/// One row with `open` elements, fetched and judged as judge_fast_on_device would.
FastJudgement judge_row_of_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                  std::int64_t row, std::int64_t open);

/// Host memory, copied to the selected device and judged there.
FastJudgement judge_fast_by_device(const Claim& claim, Backend backend, const Outputs& outputs,
                                   std::vector<fast::RowConstants>* constants = nullptr);

/// fast::exp(t[i], t_lo[i]) as the device computes it: for tests.
std::vector<double> exps_by_device(const std::vector<double>& t, const std::vector<double>& t_lo);

}  // namespace assay
