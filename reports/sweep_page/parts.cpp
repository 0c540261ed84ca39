// SPDX-License-Identifier: Apache-2.0
// Looks, numbers and small pieces of HTML that the sections of the sweep page share.
#include "reports/sweep_page/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::speed {
namespace {

struct Rule {
  const char* begins;
  Look look;
};

// The first rule that matches applies. This project's kernels and the peers share no marker, so that two
// colours need only differ within each of these (parts_test.cpp).
using enum Marker;
constexpr Rule kLooks[] = {
    {"copy", {"c-ceiling", circle, false}},
    {"read", {"c-ceiling", diamond, true}},
    // Peers.
    {"cudnn_fast", {"c-cudnn", down, true}},
    {"cudnn", {"c-cudnn", triangle, false}},
    {"cub", {"c-cudnn", ring, false}},
    {"torch_compile", {"c-torch", saltire, true}},
    {"torch_topk", {"c-torch", ring, false}},
    {"torch_softmax_topk", {"c-torch", down, false}},
    {"torch", {"c-torch", triangle, false}},
    {"triton", {"c-triton", triangle, false}},
    {"flashinfer_topk", {"c-library", down, true}},
    {"flashinfer", {"c-library", triangle, false}},
    {"quack", {"c-library", ring, false}},
    {"liger", {"c-library", saltire, false}},
    // This project's kernels.
    {"onepass_topk_fast", {"c-chosen", diamond, true}},
    {"onepass_topk_softmax", {"c-chosen", square, false}},
    {"onepass_topk_log", {"c-chosen", cross, false}},
    {"onepass_topk", {"c-chosen", circle, false}},
    {"onepass_min_p", {"c-chosen", bar, false}},
    {"onepass_top_p", {"c-chosen", post, false}},
    {"onepass_fast", {"c-onepass", diamond, true}},
    {"onepass_invariant", {"c-onepass", square, false}},
    {"onepass_log", {"c-onepass", cross, false}},
    {"onepass_lse", {"c-onepass", bar, false}},
    {"onepass_split", {"c-onepass", post, false}},
    {"onepass", {"c-onepass", circle, false}},
    {"safe_then_topk", {"c-unfused", square, false}},
    {"topk_block", {"c-unfused", circle, false}},
    {"radix_topk", {"c-unfused", diamond, false}},
    {"online_then_topk", {"c-parted", diamond, false}},
    {"safe_topk", {"c-safe", square, false}},
    {"log_softmax", {"c-safe", cross, true}},
    {"safe_", {"c-safe", circle, false}},
    {"online_warp", {"c-chip", circle, false}},
    {"register_", {"c-chip", square, false}},
    {"fragment_", {"c-chip", diamond, false}},
    {"online_thread", {"c-thread", diamond, true}},
    {"online_recurrence", {"c-thread", cross, false}},
    {"three_kernel", {"c-thread", circle, false}},
    {"fused_safe_thread", {"c-thread", square, false}},
    {"online_topk", {"c-online", square, false}},
    {"lse_", {"c-online", cross, true}},
    {"online_", {"c-online", circle, false}},
    {"lazy_", {"c-online", diamond, true}},
    {"naive_", {"c-naive", circle, false}},
    {"tree_five", {"c-five", circle, false}},
    {"shuffle_five", {"c-five", square, true}},
    {"vector_tree", {"c-five", diamond, false}},
    {"vector_shuffle", {"c-five", cross, true}},
    {"single_thread", {"c-three", circle, false}},
    {"serial_combine", {"c-three", square, true}},
    {"tree_dynamic", {"c-three", diamond, false}},
    {"masked_", {"c-other", circle, false}},
    {"causal_", {"c-other", square, false}},
    {"backward_", {"c-other", diamond, false}},
};

}  // namespace

Look look(std::string_view variant) {
  Look found{"c-other", cross, false};
  for (const Rule& r : kLooks)
    if (variant.starts_with(r.begins)) {
      found = r.look;
      break;
    }
  // The benchmark's own form of a kernel has the same colour and marker, but is dashed.
  if (variant.ends_with("_sized")) found.dashed = true;
  return found;
}

std::string line_css(std::string_view variant) {
  const Look l = look(variant);
  return std::string(l.dashed ? "lim " : "ln ") + l.css;
}

std::string legend(const std::vector<std::string>& variants, bool lines) {
  // Dashes are seen in lines only. A look that several names share is listed once, with all of them.
  std::vector<std::pair<std::string, std::string>> entries;  // sample, names
  for (const std::string& v : variants) {
    const std::string sample = legend_sample(look(v).marker, look(v).css, lines ? line_css(v) : "");
    const auto same =
        std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.first == sample; });
    if (same == entries.end())
      entries.emplace_back(sample, escape(v));
    else
      same->second += ", " + escape(v);
  }
  std::string out = "<ul class=\"legend\">";
  for (const auto& [sample, names] : entries) out += "<li>" + sample + names + "</li>";
  return out + "</ul>";
}

std::string figure(const std::string& caption, const std::string& note, const std::string& svg,
                   const std::string& attributes) {
  return "<figure" + attributes + "><figcaption>" + escape(caption) +
         (note.empty() ? "" : "<small>" + note + "</small>") + "</figcaption>" + svg + "</figure>";
}

std::string panels(const std::string& figures) { return "<div class=\"panels broad\">" + figures + "</div>"; }

std::string choice(const std::string& content) { return "<div class=\"choice\">" + content + "</div>"; }

std::string chosen_by(std::string_view dtype, std::int64_t rows, std::int64_t V) {
  std::string out = " data-dtype=\"" + escape(dtype) + "\"";
  if (rows > 0) out += fmt::format(" data-rows=\"{}\"", rows);
  if (V > 0) out += fmt::format(" data-size=\"{}\"", V);
  return out;
}

std::string missing(std::string_view what, std::string_view command) {
  return "<p class=\"mute\">Not in this run: " + escape(what) + ". " + page::command(command) +
         " makes it.</p>";
}

std::string duration(double us) {
  if (!std::isfinite(us)) return "-";
  if (us >= 9999.5) return plain_number(us / 1000) + " ms";
  return plain_number(us) + " us";
}

std::string factor(double v) {
  if (!std::isfinite(v)) return kDash;
  return fmt::format("{:.{}f}&times;", v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";
  // Truncates: what is shown as 90 % is at least 90 %.
  const double whole = 100 * share + 1e-9;
  if (share < 0.001) return plain_number(100 * share) + " %";
  const int decimals = share < 0.01 ? 2 : share < 0.1 ? 1 : 0;
  const double unit = std::pow(10, decimals);
  return fmt::format("{:.{}f} %", std::floor(unit * whole) / unit, decimals);
}

std::string share_cell(double share, std::string_view note, double good, std::string_view title) {
  if (!std::isfinite(share)) return "<td class=\"n\">" + std::string(kDash) + "</td>";
  return fmt::format("<td class=\"n ratio{}\" data-v=\"{}\"{}>{}<i style=\"width:{:.0f}%\"></i>{}</td>",
                     share < good ? " short" : "", share,
                     title.empty() ? "" : " title=\"" + escape(title) + "\"", percent(share),
                     100 * std::clamp(share, 0.0, 1.0),
                     note.empty() ? "" : "<small>" + std::string(note) + "</small>");
}

static std::string reservations(const SweepRecord& r) {
  std::string out = r.once ? "; one sample" : "";
  if (r.verified != Status::pass) out += r.verified == Status::fail ? "; WRONG" : "; not judged";
  if (!beyond_reach(r).empty()) out += "; FASTER THAN THIS MACHINE CAN BE";
  return out;
}

std::string describe(const SweepRecord& r) {
  std::string out =
      fmt::format("{} {}, V = {}, {} rows", variant_of(r.key), r.dtype, grouped(r.V), grouped(r.rows));
  return out + behind_name(r.op, r.pick()) + ": " + time_and_speed(r);
}

std::string time_and_speed(const SweepRecord& r) {
  std::string out = duration(r.median_us.value_or(NAN));
  if (r.gb_per_s) out += fmt::format(", {} GB/s", plain_number(*r.gb_per_s));
  if (std::isfinite(share(r)))
    out += fmt::format(", {} of the {}", percent(share(r)), reads_only(r) ? "read" : "copy");
  return out + reservations(r);
}

std::string beside(const SweepRecord& r) {
  return (r.gb_per_s ? plain_number(*r.gb_per_s) + " GB/s" : "") + reservations(r);
}

std::string verified_word(const SweepRecord& r) {
  if (r.verified == Status::pass) return "<span class=\"good\">right</span>";
  const std::string title = r.verified_reason.empty() ? "" : " title=\"" + escape(r.verified_reason) + "\"";
  return r.verified == Status::fail ? "<span class=\"bad\"" + title + ">wrong</span>"
                                    : "<span class=\"warn\"" + title + ">not judged</span>";
}

Axis size_axis(const std::vector<std::int64_t>& sizes) {
  if (sizes.empty()) return {10, 1e6, true, "V"};
  const auto [lo, hi] = std::minmax_element(sizes.begin(), sizes.end());
  return {static_cast<double>(*lo) / 1.3, static_cast<double>(*hi) * 1.3, true, "V, elements of a row"};
}

}  // namespace assay::speed
