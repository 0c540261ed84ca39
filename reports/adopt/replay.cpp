// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

namespace assay {
std::string figure_text(const std::optional<double>& v) { return v ? fmt::format("{}", *v) : "none"; }

bool same_figure(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return *a == *b || (std::isnan(*a) && std::isnan(*b));
}

bool is_loaded(const CertifiedFile& f) {
  constexpr std::array kRoles = {"library", "module", "data", "package", "runtime"};
  return std::ranges::find(kRoles, f.role) != kRoles.end();
}

std::string differing_file(const std::vector<CertifiedFile>& then, const std::vector<CertifiedFile>& now,
                           bool rebuilt) {
  // Of the files that are included there may be many, each with a name.
  const auto same_place = [](const std::vector<CertifiedFile>& files, const CertifiedFile& one) {
    return std::find_if(files.begin(), files.end(), [&](const CertifiedFile& f) {
      return f.role == one.role && (f.role != "include" || f.path == one.path);
    });
  };
  // The binary holds what a compiler made of the system's headers. Where it is the same one, these do not
  // matter.
  const auto decides = [&](const CertifiedFile& f) {
    return f.role != "system" && f.role != "compiler" && !(rebuilt && f.role == "binary");
  };
  // What the verdict is about must be known: a certificate without a hash is one of any kernel.
  for (const CertifiedFile& n : now) {
    const auto at = same_place(then, n);
    if (!n.sha256.empty() && (at == then.end() || at->sha256.empty()))
      return fmt::format("{} {}: the certificate has no hash of it", n.role, n.path);
  }
  for (const CertifiedFile& f : then) {
    if (is_loaded(f)) continue;
    const auto at = same_place(now, f);
    if (at == now.end())
      return fmt::format("{} {}: the certificate has its hash, and it is not there now", f.role, f.path);
    if (!decides(f) || at->sha256 == f.sha256) continue;
    std::string others;
    for (const CertifiedFile& one : then)
      if (const auto other = same_place(now, one); f.role == "binary" && !decides(one) &&
                                                   other != now.end() && other->sha256 != one.sha256 &&
                                                   one.role != "binary")
        others += (others.empty() ? "; also other: " : ", ") + other->path;
    return fmt::format("{} {}: its SHA-256 is {}, and in the certificate {}{}{}", f.role, at->path,
                       at->sha256, f.sha256,
                       f.role == "binary" ? " (one that was built in another place or by another compiler is "
                                            "replayed with --rebuilt)"
                                          : "",
                       others);
  }
  return {};
}

std::vector<const CertifiedCase*> sample_of(const std::vector<CertifiedCase>& cases, std::size_t count,
                                            std::uint64_t seed) {
  std::vector<const CertifiedCase*> rest;
  std::size_t worst = 0;
  for (const CertifiedCase& c : cases) {
    worst += c.worst;
    if (!c.worst) rest.push_back(&c);
  }
  // Not std::shuffle: its order differs between libraries.
  std::mt19937_64 random(seed);
  for (std::size_t i = rest.size(); i > 1; --i) std::swap(rest[i - 1], rest[random() % i]);
  rest.resize(std::min(rest.size(), count > worst ? count - worst : 0));
  const std::set<const CertifiedCase*> drawn(rest.begin(), rest.end());
  std::vector<const CertifiedCase*> sample;
  for (const CertifiedCase& c : cases)
    if (c.worst || drawn.contains(&c)) sample.push_back(&c);
  return sample;
}

std::string difference(const CertifiedCase& then, const Record& now, Agreement how) {
  const CheckResult* const failed = first_failed(now);
  const std::string check = failed ? name(failed->check) : "";
  if (then.status != now.status)
    return fmt::format("it was {}, and is {}", name(then.status), name(now.status));
  if (then.check != check)
    return fmt::format("the first check that failed was {}, and is {}",
                       then.check.empty() ? "none" : then.check, check.empty() ? "none" : check);
  if (then.rows_judged != now.rows_judged)
    return fmt::format("rows judged were {}, and are {}", then.rows_judged, now.rows_judged);
  const auto differs = [](const char* figure, const std::optional<double>& a,
                          const std::optional<double>& b) {
    return fmt::format("{} was {}, and is {}", figure, figure_text(a), figure_text(b));
  };
  if (how == Agreement::verdicts)
    return then.max_ulp.has_value() == now.max_ulp.has_value()
               ? ""
               : differs("max_ulp", then.max_ulp, now.max_ulp);
  if (!same_figure(then.max_ulp, now.max_ulp)) return differs("max_ulp", then.max_ulp, now.max_ulp);
  if (!same_figure(then.max_bound_ratio, now.max_bound_ratio))
    return differs("max_bound_ratio", then.max_bound_ratio, now.max_bound_ratio);
  if (!same_figure(then.resolution, now.resolution))
    return differs("resolution", then.resolution, now.resolution);
  return {};
}

}  // namespace assay
