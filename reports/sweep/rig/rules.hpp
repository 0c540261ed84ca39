// SPDX-License-Identifier: Apache-2.0
// The rules by which launches are timed, the figures of data sheets, and the row lengths that are compared
// with goals. This is their only home: Python scripts read what `assay sweep rules` prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

struct TimingRules {
  double too_long_us = 200'000;      // a launch that takes longer is not repeated
  double warm_us = 3'000;            // launches before the first sample
  double batch_us = 100;             // one sample; with it the resolution of an event is 1 %
  double least_us = 0.1;             // shortest launch that batches are made for: a clock may see nothing
  double enough_us = 150'000;        // all samples together
  std::int64_t least_samples = 12;   // before sampling may end
  std::int64_t most_samples = 30;    // after which it ends
  double narrow = 0.02;              // it ends if the median's interval is no wider than this share of it
  std::int64_t most_launches = 128;  // of a sample: a stream queues some 1000 before the host waits
  double clock_us = 10'000;          // a batch that the clock of this process is held to
  std::int64_t clock_least_launches = 4;  // of such a batch
  std::int64_t clock_requests = 5;        // after which what no clock explains is a contradiction
  std::int64_t l2_sizes = 2;              // how often the L2 is exceeded before a buffer is used again
  std::int64_t tile_elements = std::int64_t{1} << 22;    // logits of distinct rows
  std::int64_t judged_elements = std::int64_t{1} << 17;  // of the rows that the checker judges
  std::int64_t least_judged_rows = 2, most_judged_rows = 8;
};
inline constexpr TimingRules kTimingRules;

/// The row lengths V that goals.md of a published sweep compares with its goals: every rung of the ladder of
/// onepass, aligned rows and others.
inline constexpr std::int64_t kLadder[] = {32,     64,     128,    256,    512,    1000,   1025,  4096,
                                           8192,   12345,  16384,  25000,  32768,  50257,  65536, 128256,
                                           128257, 131072, 151936, 262144, 524288, 1048576};
/// Those of launches of 1 and 10 rows.
inline constexpr std::int64_t kLadderFewRows[] = {25000, 128256, 262144, 1048576};

/// The shapes that softmax + top-k is compared with its goals at: 4000 rows, few and many of them selected,
/// and 10 long rows.
inline constexpr std::int64_t kTopkLadder[] = {8192, 16384, 32768, 65536, 131072, 262144};
inline constexpr std::int64_t kTopkManyLadder[] = {32768, 131072, 262144};
inline constexpr std::int64_t kTopkLadderFewRows[] = {128256, 262144, 1048576};
inline constexpr std::int64_t kTopkFew[] = {5, 30};
inline constexpr std::int64_t kTopkMany[] = {64, 128, 256};

/// True of those shapes.
bool shape_of_topk_goals(std::int64_t rows, std::int64_t V, std::int64_t k);

/// "over 200 ms": how long a launch takes that is not repeated.
std::string too_long_words();

/// The memory's speed in GB/s by NVIDIA's data sheet. Empty for a GPU that is not listed.
std::optional<double> datasheet_gb_per_s(std::string_view gpu);

/// The rules, the ladder, and the data sheets as pairs of a part of the GPU's name and GB/s.
std::string timing_rules_json();

}  // namespace assay
