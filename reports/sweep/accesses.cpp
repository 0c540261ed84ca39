// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/accesses.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "kernels/counted/counted.hpp"
#include "kernels/registry.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/data/files.hpp"

namespace assay {

Problem problem_of_point(const Variant& v, const AccessPoint& a) {
  Problem p;
  p.op = v.op;
  p.in = v.dtype;
  p.out = v.out();
  p.rows = a.rows;
  p.V = p.in_pitch = a.V;
  p.take(a.pick);
  p.out_pitch = selects(p.op) ? p.k : a.V;
  return p;
}

std::vector<AccessPoint> access_points(Backend backend, const std::vector<std::string>& keys,
                                       const std::vector<std::int64_t>& V, std::int64_t rows) {
  std::vector<AccessPoint> out;
  std::vector<bool> used(keys.size(), false);
  for (const Variant& v : registry()) {
    bool wanted = keys.empty();
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (fnmatch(keys[i].c_str(), v.key().c_str(), 0) == 0) wanted = used[i] = true;
    if (!wanted || v.backend != backend) continue;
    // Launches under a profiler have no gradients.
    if (v.op == Op::softmax_backward && backend == Backend::cuda) continue;
    // Loads and stores are counted per element, and a causal row leaves out half of its elements.
    if (v.claim.causal != Causal::no) continue;
    for (const std::int64_t length : V)
      if ((v.limits.max_V == 0 || length <= v.limits.max_V) && length % v.limits.V_multiple == 0)
        out.push_back({v.key(), rows, length, pick_of_few(v.op)});
  }
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!used[i]) throw InputError("--key " + keys[i] + ": no such key; assay list names them all");
  return out;
}

std::vector<AccessRecord> count_on_host(const std::vector<AccessPoint>& points) {
  std::vector<AccessRecord> out;
  for (const AccessPoint& a : points) {
    const Variant* v = find_counted(a.key);
    if (!v) continue;
    const Tensor logits = make_input(*find_family("normal_1"), v->dtype, a.V, a.rows, 1);
    const AccessCounts counts = count_accesses(*v, problem_of_point(*v, a), logits.bytes);
    AccessRecord r;
    r.key = a.key;
    r.claimed_loads = v->claim.loads(a.V);
    r.claimed_stores = v->claim.stores(a.V);
    r.source = "host counters";
    r.rows = a.rows;
    r.V = a.V;
    r.k = a.pick.k, r.threshold = a.pick.threshold;
    r.loads = counts.loads;
    r.stores = counts.stores;
    out.push_back(std::move(r));
  }
  return out;
}

// Reads ncu's CSV: one row per kernel launch; the second line holds the units. Numbers have thousands
// separators.

namespace {

enum Metric {
  time,
  dram_read,
  dram_write,
  l2_read,
  l2_write,
  instructions,
  issue,
  occupancy,
  dram_throughput,
  registers,
  local_load,
  local_store,
  sectors,
  metrics
};
constexpr const char* kMetrics[metrics] = {
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "smsp__inst_executed.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "launch__registers_per_thread",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
};
constexpr double kSector = 32;  // bytes

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line)
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  return out;
}

/// The factor that converts one of ncu's units to bytes or microseconds.
double scale(const std::string& unit) {
  static const std::map<std::string, double> units = {
      {"Kbyte", 1e3}, {"Mbyte", 1e6}, {"Gbyte", 1e9}, {"Tbyte", 1e12},  {"ns", 1e-3}, {"nsecond", 1e-3},
      {"us", 1},      {"usecond", 1}, {"ms", 1e3},    {"msecond", 1e3}, {"s", 1e6},   {"second", 1e6},
  };
  const auto found = units.find(unit);
  return found == units.end() ? 1 : found->second;
}

struct Kernel {
  std::string name;
  double value[metrics];
};

/// All launches of a table, including the marks.
std::vector<Kernel> read_kernels(const std::filesystem::path& file) {
  std::istringstream text(read_file(file));
  std::vector<std::string> header, units;
  std::vector<Kernel> out;
  std::size_t name_at = 0, at[metrics] = {};
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] != '"') continue;
    const std::vector<std::string> row = cells(line);
    if (row[0] == "ID") {
      header = row;
      const auto find = [&](const std::string& column) {
        const auto i = std::find(header.begin(), header.end(), column);
        if (i == header.end()) throw InputError(file.string() + ": has no column " + column);
        return static_cast<std::size_t>(i - header.begin());
      };
      name_at = find("Kernel Name");
      for (int m = 0; m < metrics; ++m) at[m] = find(kMetrics[m]);
      continue;
    }
    if (header.empty() || row.size() != header.size()) continue;
    if (row[0].empty()) {
      units = row;
      continue;
    }
    Kernel k;
    k.name = row[name_at];
    for (int m = 0; m < metrics; ++m) {
      std::string number = row[at[m]];
      std::erase(number, ',');
      char* end = nullptr;
      k.value[m] = std::strtod(number.c_str(), &end);
      if (end == number.c_str()) k.value[m] = 0;  // "n/a": the metric does not apply to this kernel
      if (!units.empty()) k.value[m] *= scale(units[at[m]]);
    }
    out.push_back(std::move(k));
  }
  if (header.empty()) throw InputError(file.string() + ": holds no table of ncu --csv --page raw");
  return out;
}

AccessRecord record_of(const AccessPoint& a, const std::vector<Kernel>& launches, const std::string& gpu) {
  AccessRecord r;
  r.key = a.key;
  r.source = "ncu";
  r.rows = a.rows;
  r.V = a.V;
  r.k = a.pick.k, r.threshold = a.pick.threshold;
  r.gpu = gpu;
  const Variant* v = find_variant(a.key);
  if (v) {
    r.claimed_loads = v->claim.loads(a.V);
    r.claimed_stores = v->claim.stores(a.V);
  }
  const double elements = static_cast<double>(a.rows) * static_cast<double>(a.V);
  const double row_bytes = elements * static_cast<double>(v ? size_of(v->dtype) : 4);
  double sum[metrics] = {}, timed[metrics] = {}, most_registers = 0;
  for (const Kernel& k : launches) {
    for (int m = 0; m < metrics; ++m) {
      sum[m] += k.value[m];
      timed[m] += k.value[m] * k.value[time];
    }
    most_registers = std::max(most_registers, k.value[registers]);
  }
  const double all_time = sum[time];
  // The shares of several launches are averaged, weighted by time.
  const auto share = [&](Metric m) { return all_time > 0 ? timed[m] / all_time / 100 : 0; };
  r.dram_read = sum[dram_read] / row_bytes;
  r.dram_write = sum[dram_write] / row_bytes;
  r.l2_read = sum[l2_read] * kSector / row_bytes;
  r.l2_write = sum[l2_write] * kSector / row_bytes;
  r.registers = most_registers;
  r.local_bytes = (sum[local_load] + sum[local_store]) / elements;
  r.occupancy = share(occupancy);
  r.sectors_per_request = all_time > 0 ? timed[sectors] / all_time : 0;
  r.instructions_per_element = sum[instructions] * 32 / elements;
  r.issue_share = share(issue);
  r.dram_share = share(dram_throughput);
  r.time_us = all_time;
  r.kernels = static_cast<int>(launches.size());
  return r;
}

}  // namespace

std::string ncu_metrics() {
  std::string out;
  for (const char* m : kMetrics) out += (out.empty() ? "" : ",") + std::string(m);
  return out;
}

std::vector<AccessRecord> read_ncu(const std::filesystem::path& file, const std::vector<AccessPoint>& points,
                                   const std::string& gpu) {
  std::vector<std::vector<Kernel>> groups;
  bool open = false;
  for (Kernel& k : read_kernels(file)) {
    if (k.name.find(kPointBegins) != std::string::npos) {
      groups.emplace_back();
      open = true;
    } else if (k.name.find(kPointEnds) != std::string::npos) {
      open = false;
    } else if (open) {
      groups.back().push_back(std::move(k));
    }
  }
  if (groups.size() != points.size())
    throw InputError(
        fmt::format("{}: holds {} points, {} were launched", file.string(), groups.size(), points.size()));
  std::vector<AccessRecord> out;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (groups[i].empty())
      throw InputError(
          fmt::format("{}: no launch of {} at V = {}", file.string(), points[i].key, points[i].V));
    out.push_back(record_of(points[i], groups[i], gpu));
  }
  return out;
}

}  // namespace assay
