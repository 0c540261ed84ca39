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

// The first rule that matches applies. Hues follow Okabe and Ito's set, which is safe for any colour vision.
constexpr Rule kLooks[] = {
    {"copy", {"c-ceiling", Marker::circle, false}},
    {"read", {"c-ceiling", Marker::diamond, true}},
    {"cudnn_fast", {"c-cudnn", Marker::diamond, true}},
    {"cudnn", {"c-cudnn", Marker::circle, false}},
    {"torch_compile", {"c-torch", Marker::diamond, true}},
    {"torch_topk", {"c-torch", Marker::cross, false}},
    {"torch_softmax_topk", {"c-torch", Marker::square, false}},
    {"torch", {"c-torch", Marker::circle, false}},
    {"triton", {"c-triton", Marker::square, false}},
    {"naive_", {"c-naive", Marker::circle, false}},
    {"safe_then_topk", {"c-unfused", Marker::square, false}},
    {"online_then_topk", {"c-unfused", Marker::diamond, true}},
    {"safe_topk", {"c-safe", Marker::square, false}},
    {"online_topk", {"c-online", Marker::square, false}},
    {"onepass_topk_fast", {"c-onepass", Marker::diamond, true}},
    {"onepass_topk", {"c-onepass", Marker::cross, false}},
    {"online_warp", {"c-onepass", Marker::circle, false}},
    {"register_", {"c-onepass", Marker::square, false}},
    {"fragment_", {"c-onepass", Marker::diamond, false}},
    {"three_kernel", {"c-thread", Marker::circle, false}},
    {"fused_safe_thread", {"c-thread", Marker::square, false}},
    {"online_thread", {"c-thread", Marker::diamond, true}},
    {"online_recurrence", {"c-thread", Marker::diamond, false}},
    {"tree_five", {"c-five", Marker::circle, false}},
    {"shuffle_five", {"c-five", Marker::square, true}},
    {"single_thread", {"c-three", Marker::circle, false}},
    {"serial_combine", {"c-three", Marker::square, true}},
    {"tree_dynamic", {"c-three", Marker::diamond, false}},
    {"vector_tree", {"c-five", Marker::diamond, false}},
    {"vector_shuffle", {"c-five", Marker::cross, true}},
    {"log_softmax", {"c-safe", Marker::cross, true}},
    {"safe_", {"c-safe", Marker::circle, false}},
    {"lse_", {"c-online", Marker::cross, true}},
    {"online_", {"c-online", Marker::circle, false}},
    {"lazy_", {"c-online", Marker::diamond, true}},
};

}  // namespace

Look look(std::string_view variant) {
  Look found{"c-other", Marker::cross, false};
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

std::string legend(const std::vector<std::string>& variants) {
  std::string out = "<ul class=\"legend\">";
  for (const std::string& v : variants)
    out += "<li>" + legend_sample(look(v).marker, look(v).css, line_css(v)) + escape(v) + "</li>";
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
  std::string out = r.status == "once" ? "; one sample" : "";
  if (r.verified != "pass") out += r.verified == "fail" ? "; WRONG" : "; not judged";
  return out;
}

std::string describe(const SweepRecord& r) {
  std::string out =
      fmt::format("{} {}, V = {}, {} rows", variant_of(r.key), r.dtype, grouped(r.V), grouped(r.rows));
  return out + behind_name(r.op, r.k) + ": " + time_and_speed(r);
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
  if (r.verified == "pass") return "<span class=\"good\">right</span>";
  const std::string title = r.verified_reason.empty() ? "" : " title=\"" + escape(r.verified_reason) + "\"";
  return r.verified == "fail" ? "<span class=\"bad\"" + title + ">wrong</span>"
                              : "<span class=\"warn\"" + title + ">not judged</span>";
}

Axis size_axis(const std::vector<std::int64_t>& sizes) {
  if (sizes.empty()) return {10, 1e6, true, "V"};
  const auto [lo, hi] = std::minmax_element(sizes.begin(), sizes.end());
  return {static_cast<double>(*lo) / 1.3, static_cast<double>(*hi) * 1.3, true, "V, elements of a row"};
}

}  // namespace assay::speed
