// SPDX-License-Identifier: Apache-2.0
#include "reports/data/functions_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"
#include "reports/data/outcome.hpp"

namespace assay {

bool on_every_argument(const FunctionResult& f) {
  const std::int64_t one = std::int64_t{1} << (f.dtype == "f32" ? 32 : 16);
  // A division of two 16-bit numbers has 2^32 pairs. Nobody tries the 2^64 of two f32 numbers.
  return f.stride == 1 && (f.inputs == one || f.inputs == std::int64_t{1} << 32);
}

namespace {

struct FunctionCounts {
  StatusCounts functions, pairs, quotients;
  std::int64_t exhaustive = 0, some_pairs = 0, values = 0, rows = 0;

  std::int64_t executed() const { return functions.executed() + pairs.executed() + quotients.executed(); }
  std::int64_t bad() const { return functions.bad() + pairs.bad() + quotients.bad(); }
  std::int64_t not_run() const {
    return functions[Status::not_run] + pairs[Status::not_run] + quotients[Status::not_run];
  }
};
FunctionCounts count(const FunctionsReport& r) {
  FunctionCounts n;
  for (const FunctionResult& f : r.functions) {
    ++n.functions[f.status];
    if (f.status == Status::not_run) continue;
    n.exhaustive += on_every_argument(f);
    n.some_pairs += f.stride == 1 && !on_every_argument(f);
    n.values += f.inputs;
  }
  for (const PairResult& p : r.pairs) {
    ++n.pairs[p.status];
    n.rows += p.rows;
  }
  if (r.quotients) ++n.quotients[r.quotients->status];
  return n;
}

}  // namespace

FunctionsReport quick_functions() {
  const auto start = std::chrono::steady_clock::now();
  FunctionsReport r;
  r.environment = environment();
  for (const functions::Function& f : functions::functions())
    r.functions.push_back(measure(f, {f.backend == Backend::cuda ? 1 : 997, 0}));
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return r;
}

bool functions_ran(const FunctionsReport& r) { return count(r).executed() > 0; }

bool functions_passed(const FunctionsReport& r) {
  const FunctionCounts n = count(r);
  return n.executed() > 0 && n.bad() == 0;
}

std::string functions_word(const FunctionsReport& r) {
  return name(functions_passed(r) ? Verdict::pass : functions_ran(r) ? Verdict::fail : Verdict::not_run);
}

std::string functions_verdict(const FunctionsReport& r) {
  const FunctionCounts n = count(r);
  const std::int64_t ran = n.functions.executed(), pairs = n.pairs.executed();
  std::string out = fmt::format("{} functions, {} of them on every argument, {} values", ran, n.exhaustive,
                                grouped(n.values));
  if (n.some_pairs > 0) out += fmt::format("; {} divisions on drawn pairs", n.some_pairs);
  if (ran == 0) out = pairs > 0 ? "no function asked for" : "nothing ran";
  if (n.functions.bad() > 0) out += fmt::format("; {} beyond what is declared", n.functions.bad());
  if (pairs > 0) out += fmt::format("; {} two-element softmaxes, {} rows", pairs, grouped(n.rows));
  if (n.pairs.bad() > 0) out += fmt::format(", {} fail", n.pairs.bad());
  if (n.quotients.executed() > 0) out += "; " + quotients_sentence(*r.quotients);
  if (n.not_run() > 0) out += fmt::format("; {} not run", n.not_run());
  return out;
}

std::string quotients_sentence(const QuotientSweep& q) {
  if (q.status == Status::not_run) return "quotients by a shared divisor: not run: " + q.reason;
  std::string out =
      fmt::format("quotients by a shared divisor: {} pairs of mantissas, {} not correctly rounded",
                  grouped(q.divisors * kMantissas), grouped(q.wrong));
  if (q.wrong > 0) out += fmt::format(" (one: divisor {:#x}, numerator {:#x})", q.divisor, q.numerator);
  return out;
}

std::string render_functions_terminal(const FunctionsReport& r, const std::string& page) {
  std::string out =
      fmt::format("{}: {}. Took {:.1f} s.\n", functions_word(r), functions_verdict(r), r.seconds);
  int shown = 0;
  for (const FunctionResult& f : r.functions)
    if (f.status == Status::fail && ++shown <= 3)
      out += fmt::format("  {}: {}\n    assay functions --function '{}'{}\n", f.id(), f.reason, f.id(),
                         f.stride > 1 ? fmt::format(" --stride {}", f.stride) : "");
  out += fmt::format("\n{:<26} {:>13} {:>9} {:>24} {:>9} {:>9} {:>9} {:>8} {:>7}  {}\n", "function", "inputs",
                     "max ulp", "at", "subnormal", "rounded", "mean ulp", "monotone", "s", "documented");
  for (const FunctionResult& f : r.functions) {
    if (f.status == Status::not_run) {
      out += fmt::format("{:<26} not run: {}\n", f.id(), f.reason);
      continue;
    }
    const DeclaredError* d = find_declared(f);
    out += fmt::format("{:<26} {:>13} {:>9} {:>24} {:>9} {:>9} {:>9} {:>8} {:>7.2f}  {}\n", f.id(),
                       grouped(f.inputs) + (f.stride > 1 ? "*" : ""),
                       f.ulp.measured() ? fmt::format("{:.6f}", f.ulp.value) : "-", f.ulp.argument,
                       f.tiny.measured() ? plain_number(f.tiny.value) : "-", plain_percent(f.correct_share()),
                       f.mean_count > 0 ? fmt::format("{:+.4f}", f.mean_signed) : "-",
                       f.descent.count == 0 ? "yes" : grouped(f.descent.count), f.seconds,
                       d ? d->documented : "");
  }
  if (std::any_of(r.functions.begin(), r.functions.end(),
                  [](const FunctionResult& f) { return f.stride > 1; }))
    out += "* a sample: every stride-th argument, and those around special ones\n";
  out +=
      "max ulp: distance from the exact value; subnormal: error in units of the smallest "
      "subnormal;\nmonotone: yes, or the number of descents\n";
  for (const PairResult& p : r.pairs) {
    if (p.status == Status::not_run) {
      out += fmt::format("{:<32} not run: {}\n", p.key, p.reason);
      continue;
    }
    out += fmt::format(
        "{:<32} {}: {} rows{}, max ulp {:.6f} ({}), {} correctly rounded, {} by the full check, {} outside "
        "the "
        "domain, {:.1f} s{}\n",
        p.key, name(p.status), grouped(p.rows), p.stride > 1 ? "*" : "", p.ulp, p.worst,
        p.elements > 0 ? plain_percent(static_cast<double>(p.correct) / static_cast<double>(p.elements))
                       : "-",
        grouped(p.full_check), grouped(p.outside), p.seconds,
        p.status == Status::fail ? ": " + p.reason : "");
  }
  if (!page.empty()) out += "\n" + page + "\n";
  return out;
}

}  // namespace assay
