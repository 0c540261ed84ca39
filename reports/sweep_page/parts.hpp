// SPDX-License-Identifier: Apache-2.0
// The sections of the sweep page, one function each, and the parts they share. Used only by this folder's
// page.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/page/page.hpp"
#include "reports/page/svg.hpp"
#include "reports/sweep_page/context.hpp"

namespace assay::speed {

page::Frame overview(const Context& c);      // verdict, counts, what failed of this project
std::string main_results(const Context& c);  // a few lines
std::string machine(const Context& c);       // and its own copy and read
std::string failed_peers(const Context& c);  // "" if none did
std::string paper_figures(const Context& c);
std::string paper_claims_table(const Context& c);
std::string k_table(const Context& c);
std::string tutorial_table(const Context& c);
std::string worklog_table(const Context& c);
std::string part_three_figure(const Context& c);
std::string ladder(const Context& c);
std::string speed_lines(const Context& c);
std::string own_roofline(const Context& c);
std::string roofline(const Context& c);
std::string heat_maps(const Context& c);
std::string accuracy_plane(const Context& c);
std::string every_key(const Context& c);
std::string access_table(const Context& c);
std::string spill_table(const Context& c);
std::string limits_table(const Context& c);
std::string reading();

/// A variant's colour (a CSS class), marker and line. They depend on its name alone, so that it looks the
/// same everywhere. The colour shows the algorithm, or who made a peer; marker and dashes distinguish
/// variants of one colour. Peers have markers that no kernel of this project has.
struct Look {
  const char* css;
  Marker marker;
  bool dashed;
};
Look look(std::string_view variant);
std::string line_css(std::string_view variant);
/// An entry for each look, with all names that have it. Without `lines` it is of a picture that has only
/// marks.
std::string legend(const std::vector<std::string>& variants, bool lines = true);

std::string figure(const std::string& caption, const std::string& note, const std::string& svg,
                   const std::string& attributes = "");
std::string panels(const std::string& figures);
/// Content whose parts carry chosen_by. Buttons above it show one dtype (and number of rows, and V) at a
/// time. Without scripts everything is shown.
std::string choice(const std::string& content);
std::string chosen_by(std::string_view dtype, std::int64_t rows = 0, std::int64_t V = 0);
/// "Not in this run: WHAT. COMMAND makes it."
std::string missing(std::string_view what, std::string_view command);
/// "12.3 us", "4.56 ms"
std::string duration(double us);
/// "1.28x" with the sign the page uses; an en dash for NaN.
std::string factor(double v);
/// 0.934 as "93 %"; "-" for NaN. Plain text.
std::string percent(double share);
/// A table cell with its share and a bar. It is marked if the share is below `good`; NaN is an en dash.
std::string share_cell(double share, std::string_view note = "", double good = 0,
                       std::string_view title = "");
/// Plain text for a tooltip: "online_block f32, V = 4,096, 4,000 rows: 12.3 us, 1,230 GB/s, 95 % of the
/// copy".
std::string describe(const SweepRecord& r);
/// The same without the kernel and the shape: "12.3 us, 1,230 GB/s, 95 % of the copy".
std::string time_and_speed(const SweepRecord& r);
/// What a cell with the share and the time leaves out: "1,230 GB/s; one sample".
std::string beside(const SweepRecord& r);
std::string verified_word(const SweepRecord& r);

/// A log axis that covers all V to be drawn.
Axis size_axis(const std::vector<std::int64_t>& sizes);

/// The paper's kernels, by their names in this project.
struct PaperForms {
  const char *title, *naive, *safe, *online, *unfused_safe, *unfused_online, *fused_safe, *fused_online;
};
inline constexpr PaperForms kPaperForms[] = {
    {"the benchmark's block sizes and scalar loads", "naive_block_sized", "safe_block_sized",
     "online_block_sized", "safe_then_topk_sized", "online_then_topk", "safe_topk_block_sized",
     "online_topk_block_sized"},
    {"this project's reference kernels", "naive_block", "safe_block", "online_block", "safe_then_topk",
     "online_then_topk", "safe_topk_block", "online_topk_block"},
};

/// One sentence of the paper, and what this run shows for it.
struct PaperClaim {
  std::string what, published;
  double low = 0, high = 0;  // the values in the paper's figure
  const PaperForms* forms = nullptr;
  std::string slow, fast;  // the variants whose times are divided: slow / fast
  std::int64_t rows = 0;
  int slow_k = 0, fast_k = 0;
  struct Point {
    std::int64_t V;
    double ratio;
  };
  std::vector<Point> points;
  double median = 0, least = 0, most = 0;  // NaN without points
  std::string why;                         // the ratio that the accesses allow
  bool best_known = false;                 // one of the paper's three best-known sentences
  const char* verdict() const;             // reproduced, more, less, not in this run
};
std::vector<PaperClaim> paper_claims(const Context& c);

}  // namespace assay::speed
