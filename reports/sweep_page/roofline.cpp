// SPDX-License-Identifier: Apache-2.0
// Compares each kernel with its own roofline (its claimed accesses at the speed of a copy), and all kernels
// with the machine's: instructions per byte, if counters give both.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

constexpr std::int64_t kRooflineRows = 4000;
constexpr std::int64_t kLong = 4096;
constexpr double kTarget = 0.9;  // share of its own roofline that a reference kernel should reach

struct Reference {
  const char* variant;
  std::int64_t longest;  // largest V that it is made for
};
constexpr Reference kReferences[] = {{"naive_block", INT64_MAX},
                                     {"safe_block", INT64_MAX},
                                     {"online_block", INT64_MAX},
                                     {"online_warp", 32768}};

/// The V that get a column: powers of two and vocabularies, and the paper's series if there are few others.
std::vector<std::int64_t> columns(const Context& c) {
  std::vector<std::int64_t> all;
  for (const Reference& r : kReferences)
    for (const std::string& d : c.dtypes)
      for (const std::int64_t V : c.sizes(r.variant, d, kRooflineRows))
        if (V >= kLong) all.push_back(V);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<std::int64_t> few = all;
  std::erase_if(few, [](std::int64_t V) { return V % 63 == 0; });
  return few.size() >= 6 ? few : all;
}

struct Exps {
  const char* begins;
  int each;
};
/// Exps per element in the whole kernel, by its source: for the sum, for rescaling, for the output. The first
/// that fits a name counts. What onepass_min_p does depends on the row.
constexpr Exps kExps[] = {{"onepass_min_p", 0},
                          {"onepass_top", 1},
                          {"onepass_l", 1},
                          {"onepass", 2},
                          {"online_recurrence", 3},
                          {"online_topk", 1},
                          {"safe_topk", 1},
                          {"tree_five", 1},
                          {"shuffle_five", 1},
                          {"register_", 2},
                          {"vector_", 1},
                          {"three_kernel", 1},
                          {"lse_", 1},
                          {"log_softmax", 1},
                          {"naive_", 2},
                          {"safe_", 2},
                          {"online_", 2},
                          {"fused_safe", 2},
                          {"single_thread", 2},
                          {"serial_combine", 2},
                          {"tree_dynamic", 2},
                          {"fragment_", 2},
                          {"lazy_", 2}};

/// 0 if the count is not known.
double exps(std::string_view variant) {
  for (const Exps& e : kExps)
    if (variant.starts_with(e.begins)) return e.each;
  return 0;
}

const AccessRecord* counters(const Context& c, const SweepRecord& r) {
  for (const AccessRecord& a : c.accesses)
    if (a.source == "ncu" && variant_of(a.key) == variant_of(r.key) && dtype_of(a.key) == r.dtype &&
        a.V == r.V && a.rows == r.rows && a.pick() == r.pick())
      return &a;
  return nullptr;
}

struct Dot {
  const SweepRecord* record;
  double per_byte, per_second;  // operations; per_second in 10^9
  bool measured;                // the bytes
};

struct Roofs {
  double copy = 0, read = 0;  // GB/s
  double compute = 0;         // 10^9 operations a second; 0: not known
};

std::string draw(const std::vector<Dot>& dots, const Roofs& roofs, const std::string& caption,
                 const char* x_label, const char* y_label, const std::string& note) {
  double lo = INFINITY, hi = 0, top = 0, bottom = INFINITY;
  for (const Dot& d : dots) {
    lo = std::min(lo, d.per_byte), hi = std::max(hi, d.per_byte);
    top = std::max(top, d.per_second), bottom = std::min(bottom, d.per_second);
  }
  lo /= 2, hi *= 2, top = std::max({top, roofs.compute, hi * std::max(roofs.copy, roofs.read) / 4}) * 1.5;
  Plot plot({lo, hi, true, x_label}, {bottom / 3, top, true, y_label}, caption, 560, 320);
  const auto roof = [&](double speed, const char* css) {
    std::vector<Plot::Point> line;
    for (int i = 0; i <= 40; ++i) {
      const double at = lo * std::pow(hi / lo, i / 40.0);
      const double y = roofs.compute > 0 ? std::min(at * speed, roofs.compute) : at * speed;
      if (y <= top) line.push_back({at, y, ""});
    }
    plot.line(line, css);
  };
  if (roofs.copy > 0) roof(roofs.copy, "ln c-ceiling");
  if (roofs.read > 0) roof(roofs.read, "lim c-ceiling");
  std::vector<Plot::Label> labels;
  for (const Dot& d : dots) {
    const std::string variant = variant_of(d.record->key);
    const std::vector<Plot::Point> one = {
        {d.per_byte, d.per_second,
         fmt::format("{}; {} operations a byte {}", describe(*d.record), plain_number(d.per_byte),
                     d.measured ? "that reached memory" : "of its claimed accesses")}};
    plot.points(one, look(variant).marker, look(variant).css);
    labels.push_back({d.per_byte, d.per_second, variant});
  }
  plot.labels(labels);
  return figure(caption, escape(note), plot.str(), chosen_by(dots.front().record->dtype));
}

Roofs roofs_at(const std::vector<Dot>& dots) {
  Roofs out;
  for (const Dot& d : dots) {
    const double bytes = static_cast<double>(d.record->bytes);
    if (d.record->copy_us) out.copy = std::max(out.copy, bytes / *d.record->copy_us / 1e3);
    if (d.record->read_us) out.read = std::max(out.read, bytes / *d.record->read_us / 1e3);
  }
  return out;
}

/// The V at which most kernels were timed with 4000 rows, larger than what caches hold. One with counters is
/// preferred.
std::int64_t common_size(const Context& c, const std::string& dtype) {
  std::map<std::int64_t, int> seen, counted;
  for (const SweepRecord* r : c.timed)
    if (r->dtype == dtype && r->rows == kRooflineRows && r->V >= 16384 && r->V <= 262144) {
      ++seen[r->V];
      if (counters(c, *r)) ++counted[r->V];
    }
  const auto& from = counted.empty() ? seen : counted;
  const auto most = std::max_element(from.begin(), from.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == from.end() ? 0 : most->first;
}

}  // namespace

std::string own_roofline(const Context& c) {
  const std::vector<std::int64_t> sizes = columns(c);
  if (sizes.empty())
    return missing("naive_block, safe_block, online_block at 4000 rows, V from 4096",
                   "assay sweep --key '*_block/*@cuda' --rows 4000");
  std::string head = "<table><thead><tr><th>kernel</th><th class=\"n\">least</th>", rows;
  for (const std::int64_t V : sizes) head += "<th class=\"n\">" + grouped(V) + "</th>";
  for (const Reference& ref : kReferences)
    for (const std::string& d : c.dtypes) {
      std::string cells;
      double least = INFINITY;
      std::int64_t where = 0;
      for (const std::int64_t V : c.sizes(ref.variant, d, kRooflineRows))
        if (const auto own = own_share(*c.at(ref.variant, d, kRooflineRows, V));
            own && V >= kLong && V <= ref.longest && *own < least)
          least = *own, where = V;
      for (const std::int64_t V : sizes) {
        const SweepRecord* r = V <= ref.longest ? c.at(ref.variant, d, kRooflineRows, V) : nullptr;
        const auto own = r ? own_share(*r) : std::nullopt;
        if (!own) {
          cells += share_cell(NAN);
          continue;
        }
        const auto memory = memory_share(c, *r);
        cells += share_cell(
            *own,
            memory ? fmt::format("memory {}: {}", plain_number(moved(c, *r)->accesses), percent(*memory))
                   : "",
            kTarget, time_and_speed(*r));
      }
      if (std::isfinite(least))
        rows += fmt::format(
                    "<tr><th>{} <b class=\"{}\">{}</b></th><td class=\"n {}\" data-v=\"{}\">{}<small>V "
                    "{}</small></td>",
                    ref.variant, page::dtype_class(d), d, least >= kTarget ? "good" : "warn", least,
                    percent(least), grouped(where)) +
                cells + "</tr>";
    }
  return "<p>A reference kernel is simple, but not slow: on long rows its accesses should reach 90 % of the "
         "speed of a copy. Each cell has this share at 4000 rows, for the accesses that the kernel claims (a "
         "copy makes 2 per element). Less than 90 % is marked. <i>Least</i> is the smallest share over all V "
         "(row lengths) from 4096. Above 100 %, caches serve repeated reads, and the share says less. If "
         "counters were read within a tenth of that V, the line below the share has the accesses per element "
         "that reached memory, and their speed as a share of the copy's: how busy the memory was. An output "
         "counts once, even if the L2 still held it when the kernel ended. If the memory was not busy, the "
         "table of limits on the page of <a href=\"sweep_shapes.html#limits\">speed by shape</a> says what "
         "limits the kernel.</p>" +
         page::scroll(head + "</tr></thead><tbody>" + rows + "</tbody></table>");
}

std::string roofline(const Context& c) {
  std::string figures;
  std::vector<std::string> shown;
  const auto note = [&](const std::vector<Dot>& dots) {
    for (const Dot& d : dots)
      if (const std::string v = variant_of(d.record->key);
          std::find(shown.begin(), shown.end(), v) == shown.end())
        shown.push_back(v);
  };
  for (const std::string& d : c.dtypes) {
    const std::int64_t V = common_size(c, d);
    std::vector<Dot> by_exp, by_instruction;
    std::vector<double> peaks;
    for (const SweepRecord* r : c.timed) {
      if (r->dtype != d || r->rows != kRooflineRows || r->V != V || !of_usual_pick(*r)) continue;
      const double bytes = static_cast<double>(dtype_bytes(d)), speed = elements_per_second(*r) / 1e9;
      const auto m = moved(c, *r);
      if (const double e = exps(variant_of(r->key)); m && e > 0)
        by_exp.push_back({r, e / (m->accesses * bytes), e * speed, m->measured});
      const AccessRecord* a = counters(c, *r);
      if (!a || !m || !m->measured || !(a->instructions_per_element.value_or(0) > 0)) continue;
      by_instruction.push_back({r, *a->instructions_per_element / (m->accesses * bytes),
                                *a->instructions_per_element * speed, true});
      const double elements = static_cast<double>(a->rows) * static_cast<double>(a->V);
      if (a->issue_share.value_or(0) > 0.05 && a->time_us.value_or(0) > 0)
        peaks.push_back(*a->instructions_per_element * elements / *a->time_us / 1e3 / *a->issue_share);
    }
    const std::string at = fmt::format("{}, V = {}", d, grouped(V));
    if (!by_exp.empty()) {
      note(by_exp);
      figures +=
          draw(by_exp, roofs_at(by_exp), "Exps per byte, " + at, "exps per byte moved", "10^9 exps/s", "");
    }
    if (!by_instruction.empty()) {
      Roofs roofs = roofs_at(by_instruction);
      std::sort(peaks.begin(), peaks.end());
      if (!peaks.empty()) roofs.compute = peaks[peaks.size() / 2];
      note(by_instruction);
      figures += draw(by_instruction, roofs, "Instructions per byte, " + at, "instructions per byte moved",
                      "10^9 instructions/s",
                      peaks.empty() ? "" : "flat roof: the peak issue rate, computed from the counters");
    }
  }
  if (figures.empty())
    return missing("kernels at 4000 rows, V from 16,384", "assay sweep --rows 4000 --V 32768");
  std::sort(shown.begin(), shown.end());
  return "<p>A mark on the grey line moves its bytes as fast as the copy of this run. A mark on the dashed "
         "line is as fast as a read-only pass. Bytes are those that reached memory by the counters, or those "
         "of the claimed accesses if no counter was read. Exps are counted in each source. Kernels whose "
         "count is not known (the peers) are left out.</p>" +
         legend(shown, false) + choice("<div class=\"panels wide\">" + figures + "</div>");
}

}  // namespace assay::speed
