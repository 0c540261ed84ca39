// Puts the sweep page's sections together.
#include "reports/sweep_page/page.hpp"

#include <fmt/format.h>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay {

std::string sweep_page(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses) {
  struct Section {
    const char *id, *title;
    std::string html;
  };
  using namespace speed;
  const Context c = gather(records, accesses);
  // Published GPU results and a GPU's rooflines cannot be compared with a host sweep.
  const auto on_gpu = [&](std::string (*section)(const Context&)) {
    return c.backend == "host" ? missing("a GPU's times", "assay sweep") : section(c);
  };
  const Section sections[] = {
      {"keys", "Every kernel: right or wrong, and how fast", every_key(c)},
      {"lines", "Share of the copy over V", speed_lines(c)},
      {"figures", "The paper's figures, on this machine", on_gpu(paper_figures)},
      {"claims", "What the paper says, and what is seen", on_gpu(paper_claims_table)},
      {"topk", "Softmax with top-k: K = 5, 10, 15, 30", on_gpu(k_table)},
      {"own", "The reference kernels against their own roofline", on_gpu(own_roofline)},
      {"roofline", "Roofline", on_gpu(roofline)},
      {"heat", "Share of the copy over V and rows", heat_maps(c)},
      {"plane", "Accuracy against speed", accuracy_plane(c)},
      {"accesses", "Measured accesses beside the claim", access_table(c)},
      {"limits", "What holds each kernel", limits_table(c)},
      {"spills", "Where registers run out", spill_table(c)},
      {"tutorial", "The tutorial's table", on_gpu(tutorial_table)},
      {"worklog", "The worklog's table", on_gpu(worklog_table)},
      {"part3", "Fused softmax, part 3", on_gpu(part_three_figure)},
      {"reading", "How to read this page", reading()},
  };
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light "
      "dark\"><link rel=\"icon\" href=\"data:,\">";
  out +=
      fmt::format("<title>{}: softmax performance sweep</title><style>", passed(records) ? "PASS" : "FAIL");
  out += page::style() + style();
  out += "</style></head>\n<body><main>\n" + overview(c) + "<nav aria-label=\"Contents\"><ol>";
  for (const Section& s : sections) out += fmt::format("<li><a href=\"#{}\">{}</a></li>", s.id, s.title);
  out += "</ol></nav>\n";
  for (const Section& s : sections)
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n", s.id, s.title) + s.html + "</section>\n";
  return out + "</main><script>" + page::script() + script() + "</script></body></html>\n";
}

}  // namespace assay
