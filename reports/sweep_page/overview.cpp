// SPDX-License-Identifier: Apache-2.0
// The head of the page: verdict, counts, main results in a few lines, the machine, and its own speed limits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"
#include "reports/sweep/rig/rules.hpp"
#include "reports/sweep_page/page.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {
namespace {

std::string counts(const Context& c) {
  const Counts n = count(c.records);
  return page::count_list({{"configurations", grouped(n.records())},
                           {"measured", grouped(n.of[Status::pass] - n.once)},
                           {"one sample", grouped(n.once)},
                           {"unsupported", grouped(n.of[Status::unsupported])},
                           {"not run", grouped(n.of[Status::not_run])},
                           {"failed", grouped(n.of[Status::fail])},
                           {"peers failed", grouped(n.peers_failed)},
                           {"timed but wrong", grouped(n.wrong)},
                           {"timed, not judged", grouped(n.not_judged)}});
}

/// What failed of this project's kernels, or of the peers; "" if nothing did.
std::string failures(const Context& c, bool peers) {
  constexpr int kShown = 8;
  std::string out;
  int n = 0;
  for (const SweepRecord& r : c.records) {
    const bool wrong = r.status == Status::fail || (r.verified == Status::fail && r.role != "ceiling");
    if (!wrong || (r.role == "peer") != peers || ++n > kShown) continue;
    out += fmt::format("<li><b class=\"bad\">{}</b> row length V = {}, {} rows: {} {}</li>", escape(r.key),
                       grouped(r.V), grouped(r.rows),
                       escape(shorten(r.reason.empty() ? r.verified_reason : r.reason, 300)),
                       page::command(r.reproduce));
  }
  if (n > kShown) out += fmt::format("<li>and {} more</li>", n - kShown);
  return out.empty() ? "" : "<ul>" + out + "</ul>";
}

/// Distinct values in order of appearance, joined. Peers are left out: they have builds of their own.
std::string all_values(const Context& c, std::string SweepRecord::*field) {
  std::vector<std::string> seen;
  for (const SweepRecord& r : c.records)
    if (r.backend == c.backend && r.role != "peer" && !(r.*field).empty() &&
        std::find(seen.begin(), seen.end(), r.*field) == seen.end())
      seen.push_back(r.*field);
  std::string out;
  for (std::size_t i = 0; i < seen.size() && i < 6; ++i) out += (i ? "; " : "") + seen[i];
  if (seen.size() > 6) out += fmt::format("; and {} more", seen.size() - 6);
  return out;
}

std::string clocks(const Context& c) {
  double sm = NAN, memory = NAN, lo = INFINITY, hi = 0;
  for (const SweepRecord& r : c.records) {
    if (r.backend != c.backend) continue;
    if (r.sm_clock_mhz) sm = *r.sm_clock_mhz;
    if (r.mem_clock_mhz) memory = *r.mem_clock_mhz;
    if (r.sm_clock_now_mhz) lo = std::min(lo, *r.sm_clock_now_mhz), hi = std::max(hi, *r.sm_clock_now_mhz);
  }
  std::string out;
  if (std::isfinite(sm)) out += fmt::format("SM {:.0f} MHz at most", sm);
  if (hi > 0)
    out += fmt::format("{}{:.0f} to {:.0f} MHz read after the timings", out.empty() ? "" : ", ", lo, hi);
  if (std::isfinite(memory)) out += fmt::format("{}memory {:.0f} MHz", out.empty() ? "" : "; ", memory);
  return out;
}

std::string where_made(const Context& c) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto row = [&](const char* label, const std::string& value) {
    if (!value.empty()) rows.emplace_back(label, value);
  };
  row(c.backend == "host" ? "CPU" : "GPU", all_values(c, &SweepRecord::gpu));
  row("clocks", clocks(c));
  row("driver", all_values(c, &SweepRecord::driver));
  row("CUDA", all_values(c, &SweepRecord::cuda));
  row("compiler", all_values(c, &SweepRecord::compiler));
  row("flags", all_values(c, &SweepRecord::flags));
  row("commit", all_values(c, &SweepRecord::commit));
  row("inputs", c.family.empty() ? "" : "family " + c.family);
  row("cold caches", all_values(c, &SweepRecord::cold));
  return page::where_made(rows);
}

/// Bandwidth of this run's own copy and read over the bytes moved.
std::string ceilings(const Context& c) {
  std::map<std::int64_t, double> copy, read;  // GB/s by bytes
  double empty = NAN;
  for (const SweepRecord* r : c.timed) {
    if (r->bytes <= 0) continue;
    const double bytes = static_cast<double>(r->bytes);
    if (r->copy_us && *r->copy_us > 0) copy[r->bytes] = bytes / *r->copy_us / 1e3;
    if (r->read_us && *r->read_us > 0) read[r->bytes] = bytes / *r->read_us / 1e3;
    if (r->empty_us && *r->empty_us > 0) empty = *r->empty_us;
  }
  if (copy.size() + read.size() < 2) return missing("the machine's own copy and read", "assay sweep");
  double top = 0;
  std::vector<std::int64_t> sizes;
  const auto points = [&](const std::map<std::int64_t, double>& of, const char* what) {
    std::vector<Plot::Point> out;
    for (const auto& [bytes, speed] : of) {
      out.push_back({static_cast<double>(bytes), speed,
                     fmt::format("{} of {} bytes: {} GB/s", what, grouped(bytes), plain_number(speed))});
      top = std::max(top, speed), sizes.push_back(bytes);
    }
    return out;
  };
  const auto copies = points(copy, "copy"), reads = points(read, "read-only pass");
  Axis x = size_axis(sizes);
  x.label = "total bytes moved";
  Plot plot(x, {0, 1.06 * top, false, "GB/s"}, "copy and read speed over bytes", 560, 240);
  plot.line(copies, line_css("copy"));
  plot.points(copies, look("copy").marker, look("copy").css);
  plot.line(reads, line_css("read"));
  plot.points(reads, look("read").marker, look("read").css);
  return "<h3>What this machine can do</h3><p>For the bytes of each configuration, the same run measured a "
         "device-to-device copy (bytes read + written) and a pass that only reads. All shares below are "
         "shares of these speeds, not of a datasheet's." +
         (std::isfinite(empty) ? " An empty launch takes " + duration(empty) + "." : "") + "</p>" +
         legend({"copy", "read"}) + "<div class=\"panels wide\">" + figure("Copy and read", "", plot.str()) +
         "</div>";
}

std::string others(const Context& c) {
  std::int64_t elsewhere = 0, other_family = 0;
  for (const SweepRecord& r : c.records) {
    if (r.role == "ceiling" || !r.median_us) continue;
    elsewhere += r.backend != c.backend, other_family += r.backend == c.backend && r.family != c.family;
  }
  std::string out;
  if (c.backend == "host" && !c.timed.empty())
    out +=
        "<p class=\"warn\">This is a host sweep. The kernels ran on the CPU, on an executor that imitates a "
        "GPU's threads. The times can be compared with other host sweeps, but say nothing about a GPU.</p>";
  if (elsewhere > 0)
    out += fmt::format(
        "<p class=\"mute\">{} timed configurations of another backend are in the data, but not on this "
        "page.</p>",
        grouped(elsewhere));
  if (other_family > 0)
    out += fmt::format(
        "<p class=\"mute\">{} configurations with inputs other than {} are in the data, but not on this "
        "page.</p>",
        grouped(other_family), escape(c.family));
  return out;
}

}  // namespace

page::Frame overview(const Context& c) {
  page::Frame f;
  f.passed = passed(c.records);
  f.verdict = pass_or_fail(f.passed);
  f.subject = "softmax performance sweep";
  f.heading = "Softmax kernels against the speed of this machine";
  f.about =
      "Every kernel and peer is timed, and compared with a copy of the same bytes in the same run. Its "
      "outputs are judged right or wrong, before and after the timing.";
  f.sentence = escape(verdict_line(c.records));
  f.facts = counts(c);
  const std::string failed = failures(c, false);
  f.below = (failed.empty() ? "" : "<p>What failed:</p>" + failed) + others(c);
  return f;
}

std::string main_results(const Context& c) {
  std::string seen;
  for (const std::string& line : headlines(c)) seen += "<li>" + escape(line) + "</li>";
  return seen.empty() ? missing("anything timed", "assay sweep") : "<ul class=\"seen\">" + seen + "</ul>";
}

std::string machine(const Context& c) { return where_made(c) + ceilings(c); }

std::string failed_peers(const Context& c) {
  const std::string failed = failures(c, true);
  return failed.empty() ? "" : "<p>A peer that fails does not change the verdict.</p>" + failed;
}

std::string reading() {
  return "<dl class=\"words\"><dt>Time</dt><dd>The median of CUDA events around batches of launches. "
         "<code>sweep.jsonl</code> also has p10, p90, the 95 % interval of the median, and the samples. "
         "<i>One sample</i>: the first launch took " +
         too_long_words() +
         ", or the buffers need over half of the memory.</dd><dt>Share of the copy</dt><dd>The time of a "
         "device-to-device copy, divided by the "
         "kernel's time. It is the fastest of four: memcpy, two kernels that only copy, and one of these "
         "that is started while "
         "the kernel before it ends, as <code>onepass</code> is. The copy moves "
         "the bytes that any kernel must move (every logit read once, every "
         "output written once). A kernel with 100 % is as fast as a copy.</dd><dt>Share of the "
         "read</dt><dd>The same with a pass that only reads. It is the ceiling of top-k and log-sum-exp, "
         "which write almost nothing.</dd><dt>Own roofline</dt><dd>The accesses of a kernel's algorithm at "
         "the copy's speed. On rows that fit in no cache, a share of 90 % means that the kernel is almost as "
         "fast as its algorithm allows. If caches serve repeated reads, the share is larger, and says "
         "less.</dd><dt>Right</dt><dd>The outputs before and after the timing are within the bound of the "
         "claimed algorithm, measured from the enclosure of the exact result. A peer is judged as a kernel "
         "that declares nothing.</dd><dt>Colours</dt><dd>A kernel looks the same in every picture. Each "
         "algorithm has its own hue, and so have the peers of cuDNN and CUB, of PyTorch, of Triton, and "
         "those "
         "of the other libraries together. Marks and dashes distinguish kernels of one hue. Circles, "
         "squares, "
         "diamonds, plus signs and bars are kernels of this project; triangles, rings and x are peers. Where "
         "kernels share colour and mark, the legend names them together. Dashed forms "
         "ending in <code>_sized</code> have the thread counts of the paper's benchmark.</dd></dl>";
}

}  // namespace assay::speed
