// SPDX-License-Identifier: Apache-2.0
// Puts the sweep page's sections together.
#include "reports/sweep_page/page.hpp"

#include "reports/page_texts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay {

std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
                       const std::vector<SplitRecord>& splits) {
  using namespace speed;
  const Context c = gather(records, accesses, splits);
  // Published GPU results and a GPU's rooflines cannot be compared with a host sweep.
  const auto on_gpu = [&](std::string (*section)(const Context&)) {
    return c.backend == "host" ? missing("a GPU's times", "assay sweep") : section(c);
  };
  page::Frame f = overview(c);
  f.sections = {
      {"keys", "Every kernel: right or wrong, and how fast", every_key(c)},
      {"ladder", "One read and one write: the ladder of onepass", on_gpu(ladder)},
      {"lines", "Share of the copy over row length V", speed_lines(c)},
      {"figures", "The paper's figures, on this machine", on_gpu(paper_figures)},
      {"claims", "What the paper says, and what this run shows", on_gpu(paper_claims_table)},
      {"topk", "Softmax with top-k: K = 5, 10, 15, 30", on_gpu(k_table)},
      {"own", "The reference kernels against their own roofline", on_gpu(own_roofline)},
      {"roofline", "Roofline", on_gpu(roofline)},
      {"heat", "Share of the copy over V and rows", heat_maps(c)},
      {"plane", "Accuracy against speed", accuracy_plane(c)},
      {"accesses", "Measured accesses beside the claim", access_table(c)},
      {"limits", "What limits each kernel", limits_table(c)},
      {"spills", "Where registers run out", spill_table(c)},
      {"tutorial", "The tutorial's table", on_gpu(tutorial_table)},
      {"worklog", "The worklog's table", on_gpu(worklog_table)},
      {"part3", "Fused softmax, part 3", on_gpu(part_three_figure)},
      {"reading", "How to read this page", reading()},
  };
  f.css = page::sweep_css;
  f.js = page::sweep_js;
  return page::framed(f);
}

}  // namespace assay
