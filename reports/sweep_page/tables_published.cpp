// SPDX-License-Identifier: Apache-2.0
// What the tutorial and the two blogs published, beside the same kernels on this machine. Their figures are
// from other GPUs. Only the order of the kernels and the ratios between them can be compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

using page::open_table;
using page::scroll;

constexpr const char* kTutorial[] = {"three_kernel_safe_thread", "fused_safe_thread",
                                     "online_recurrence_thread"};
constexpr const char* kWorklog[] = {"tree_five_access_block", "triton_row", "shuffle_five_access_block",
                                    "register_float4_warp"};
constexpr const char* kPartThree[] = {"single_thread_block", "serial_combine_block",
                                      "tree_dynamic_shared_block", "vector_tree_block",
                                      "vector_shuffle_block"};

/// Milliseconds on a Tesla T4, f16: three kernels, fused, online.
struct TutorialRow {
  std::int64_t rows, V;
  double ms[3];
};
constexpr TutorialRow kTutorialRows[] = {
    {32, 512, {0.1324, 0.0776, 0.0682}},  {32, 1024, {0.2670, 0.1623, 0.1408}},
    {32, 2048, {0.5335, 0.3368, 0.2845}}, {32, 4096, {1.0633, 0.6715, 0.5666}},
    {32, 8192, {2.0770, 1.3246, 1.1147}}, {64, 512, {0.2007, 0.1234, 0.1024}},
    {64, 1024, {0.3986, 0.2468, 0.2033}}, {64, 2048, {0.7899, 0.4933, 0.4007}},
    {64, 4096, {1.5726, 0.9834, 0.8058}}, {64, 8192, {3.1366, 1.9745, 1.6136}}};

/// On an A100, f32, in the blog's unit: torch, then the kernels of kWorklog. Only ratios have a meaning.
struct WorklogRow {
  std::int64_t V;
  double torch, kernels[4];
};
constexpr WorklogRow kWorklogRows[] = {
    {1024, 712, {546, 819, 683, 862}},    {2048, 936, {780, 993, 819, 1057}},
    {4096, 1130, {745, 1130, 753, 840}},  {8192, 1024, {496, 1202, 498, 480}},
    {16384, 1214, {455, 1242, 455, 329}}, {32768, 726, {442, 725, 442, 297}},
    {65536, 683, {442, 682, 442, 230}},   {131072, 689, {440, 688, 439, 282}}};

std::string dash() { return "<td class=\"n\">" + std::string(kDash) + "</td>"; }

std::string time_cell(const SweepRecord* r, const std::string& note) {
  if (!r) return dash();
  return fmt::format("<td class=\"n\" data-v=\"{}\" title=\"{}\">{}<small>{}</small></td>", *r->median_us,
                     escape(describe(*r)), duration(*r->median_us), note);
}

/// "" if it was timed at none of these V.
std::string share_row(const Context& c, const std::string& variant, const char* dtype, std::int64_t rows,
                      std::span<const std::int64_t> sizes) {
  std::string out = "<tr><th>" + escape(variant) + "</th>";
  bool any = false;
  for (const std::int64_t V : sizes) {
    const SweepRecord* r = c.at(variant, dtype, rows, V);
    any |= r != nullptr;
    out += r ? share_cell(share(*r), duration(*r->median_us), 0, beside(*r)) : dash();
  }
  return any ? out + "</tr>" : "";
}

/// The headings above a published column and this run's, which is left out if nothing of it was timed.
std::string pair_head(const char* name, bool timed) {
  return fmt::format("<th class=\"group edge\"{}>{}</th>", timed ? " colspan=\"2\"" : "", escape(name));
}
std::string pair_below(const char* published, bool timed) {
  return fmt::format("<th class=\"n edge\">{}</th>{}", published, timed ? "<th class=\"n\">here</th>" : "");
}

constexpr const char* kTutorialCommand =
    "assay sweep --key '*_thread/f16@cuda' --rows 32 --rows 64 --V 512 --V 1024 --V 2048 --V 4096 --V 8192";

}  // namespace

std::string tutorial_table(const Context& c) {
  constexpr int kOnline = 2;
  const SweepRecord* seen[std::size(kTutorialRows)][3];
  bool any[3] = {}, all = true, both = false;
  for (std::size_t t = 0; t < std::size(kTutorialRows); ++t) {
    for (int i = 0; i < 3; ++i) {
      seen[t][i] = c.at(kTutorial[i], "f16", kTutorialRows[t].rows, kTutorialRows[t].V);
      any[i] |= seen[t][i] != nullptr, all &= seen[t][i] != nullptr;
    }
    both |= seen[t][0] && seen[t][kOnline];
  }
  if (!any[0] && !any[1] && !any[2]) return missing("the tutorial's kernels at its shapes", kTutorialCommand);
  std::string rows;
  for (std::size_t t = 0; t < std::size(kTutorialRows); ++t) {
    const TutorialRow& own = kTutorialRows[t];
    rows += fmt::format("<tr><th class=\"nw\">{} &times; {}</th>", own.rows, grouped(own.V));
    for (int i = 0; i < 3; ++i) {
      const SweepRecord* r = seen[t][i];
      rows += fmt::format("<td class=\"n edge\">{}</td>", duration(own.ms[i] * 1000));
      if (any[i]) rows += time_cell(r, r ? factor(own.ms[i] * 1000 / *r->median_us) + " the T4" : "");
    }
    const SweepRecord *three = seen[t][0], *online = seen[t][kOnline];
    rows += fmt::format("<td class=\"n edge\">{}</td>", factor(own.ms[0] / own.ms[kOnline]));
    if (both)
      rows += three && online
                  ? fmt::format("<td class=\"n\">{}</td>", factor(*three->median_us / *online->median_us))
                  : dash();
    rows += "</tr>";
  }
  std::string head = "<table><thead><tr><th rowspan=\"2\">rows &times; V</th>", below;
  for (int i = 0; i < 3; ++i)
    head += pair_head(kTutorial[i], any[i]), below += pair_below("T4, published", any[i]);
  head += pair_head("online over three kernels", both) + "</tr><tr>" + below + pair_below("T4", both) +
          "</tr></thead><tbody>";
  return "<p>Benji Visser, <i>Writing a Softmax Kernel From Scratch</i>: f16, one thread per row in every "
         "kernel, on a Tesla T4. With 32 or 64 rows at most two warps work, and the rest of the GPU is idle. "
         "The times say how long one thread takes for a row, not what the GPU can do. The tutorial counts 5, "
         "3 and 2 accesses. But the second kernel reads three times and writes once, and the third reads "
         "twice and writes once: 4 and 3 (see the <a href=\"sweep_shapes.html#accesses\">measured "
         "accesses</a>).</p>" +
         scroll(head + rows + "</tbody></table>") +
         (all ? "" : missing("times for the shapes with a dash, or without a column", kTutorialCommand));
}

namespace {

/// The V to compare at: the blog's power of two, or the paper's 63/64 of it if only that has a torch time.
std::int64_t compared_size(const Context& c, std::int64_t V, std::int64_t rows) {
  const std::int64_t near = V / 64 * 63;
  return !c.at("torch_softmax", "f32", rows, V) && c.at("torch_softmax", "f32", rows, near) ? near : V;
}

}  // namespace

std::string worklog_table(const Context& c) {
  constexpr std::int64_t kRows = 4000;
  bool torch = false, any[4] = {};
  for (const WorklogRow& w : kWorklogRows) {
    const std::int64_t V = compared_size(c, w.V, kRows);
    torch |= c.at("torch_softmax", "f32", kRows, V) != nullptr;
    for (int i = 0; i < 4; ++i) any[i] |= c.at(kWorklog[i], "f32", kRows, V) != nullptr;
  }
  if (!any[0] && !any[2] && !any[3])
    return missing(
        "the worklog's kernels",
        "assay sweep --key '*_five_access_block/f32@cuda' --key 'register_float4_warp/f32@cuda' --rows 4000");
  std::string rows;
  for (const WorklogRow& w : kWorklogRows) {
    const std::int64_t V = compared_size(c, w.V, kRows);
    const SweepRecord* base = c.at("torch_softmax", "f32", kRows, V);
    rows += fmt::format("<tr><th class=\"n\">{}{}</th>", grouped(w.V),
                        V == w.V ? "" : "<small>here " + grouped(V) + "</small>");
    if (torch) rows += time_cell(base, base ? percent(share(*base)) : "");
    for (int i = 0; i < 4; ++i) {
      const SweepRecord* r = c.at(kWorklog[i], "f32", kRows, V);
      rows += fmt::format("<td class=\"n edge\">{}</td>", factor(w.kernels[i] / w.torch));
      if (!any[i]) continue;
      rows += !r ? dash()
                 : fmt::format("<td class=\"n\" title=\"{}\">{}<small>{}, {}</small></td>",
                               escape(describe(*r)), base ? factor(*base->median_us / *r->median_us) : kDash,
                               duration(*r->median_us), percent(share(*r)));
    }
    rows += "</tr>";
  }
  std::string head = "<table><thead><tr><th class=\"n\" rowspan=\"2\">V</th>", below;
  if (torch) head += "<th class=\"n\" rowspan=\"2\">torch, here</th>";
  for (int i = 0; i < 4; ++i)
    head += pair_head(kWorklog[i], any[i]), below += pair_below("A100, blog", any[i]);
  head += "</tr><tr>" + below;
  return "<p><i>softmax with CUDA worklog, part 1</i>: f32 on an A100. The numbers are speeds relative to "
         "torch's softmax: above 1 is faster. Below our numbers are the time and the share of the copy at "
         "4000 rows. The blog found that shuffles are no faster than the tree, because both make five "
         "accesses, and that its float4 kernel is ahead until its registers run out.</p>" +
         scroll(head + "</tr></thead><tbody>" + rows + "</tbody></table>") +
         (torch ? ""
                : missing("torch's softmax, which the ratios need",
                          "python3 reports/sweep/peers.py --out DIR --assay assay"));
}

std::string part_three_figure(const Context& c) {
  constexpr std::int64_t kRows = 4000;
  std::vector<std::string> names(std::begin(kPartThree), std::end(kPartThree));
  names.insert(names.end(), {"torch_softmax", "triton_row"});
  const bool peers =
      !c.sizes("torch_softmax", "f32", kRows).empty() || !c.sizes("triton_row", "f32", kRows).empty();
  std::vector<std::int64_t> sizes;
  for (const char* n : kPartThree)
    for (const std::int64_t V : c.sizes(n, "f32", kRows)) {
      const bool compared = c.at("torch_softmax", "f32", kRows, V) || c.at("triton_row", "f32", kRows, V);
      if (V >= 1000 && (peers ? compared : V % 63 != 0)) sizes.push_back(V);
    }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.empty())
    return missing(
        "the kernels of part 3 at 4000 rows, V from 1000",
        "assay sweep --key 'vector_*_block/f32@cuda' --key 'single_thread_block/f32@cuda' --rows 4000");
  std::string table = "<table><thead><tr><th>kernel</th>";
  for (const std::int64_t V : sizes) table += "<th class=\"n\">" + grouped(V) + "</th>";
  table += "</tr></thead><tbody>";
  for (const std::string& n : names) table += share_row(c, n, "f32", kRows, sizes);

  // Counts how often the blog's two sentences hold.
  struct Tally {
    int ahead = 0, of = 0;
    void take(const SweepRecord* a, const SweepRecord* b) {
      if (a && b) ++of, ahead += *a->median_us < *b->median_us;
    }
    std::string text() const { return of == 0 ? "not in this run" : fmt::format("at {} of {} V", ahead, of); }
  } eager, triton_long, triton_short;
  for (const std::int64_t V : sizes) {
    const SweepRecord* vector = c.at("vector_tree_block", "f32", kRows, V);
    eager.take(vector, c.at("torch_softmax", "f32", kRows, V));
    (V > 14080 ? triton_long : triton_short).take(vector, c.at("triton_row", "f32", kRows, V));
  }
  return "<p><i>Fused Softmax, part 3</i>: f32; from one thread per row to float4 and shuffles, with 512 "
         "threads up to V = 14,080 and 1024 above. The blog says that its float4 kernel is faster than eager "
         "torch, and above V = 14,080 also faster than a Triton kernel. Here <code>vector_tree_block</code> "
         "is faster than torch " +
         eager.text() + "; than the Triton row above 14,080 " + triton_long.text() + ", and up to 14,080 " +
         triton_short.text() +
         ". The table has the share of the copy at 4000 rows, for each V at which a peer ran too. If a row "
         "of V floats is no multiple of 16 bytes, as at 50,257, the source could not have read it by "
         "float4.</p>" +
         scroll(table + "</tbody></table>");
}

}  // namespace assay::speed
