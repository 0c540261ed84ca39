// SPDX-License-Identifier: Apache-2.0
// The data of the steps beside a certificate: are they what it was made from?
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/search/campaign.hpp"
#include "fuzz/search/shard.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/json_text.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/adopt/consistent.hpp"
#include "reports/adopt/follows.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/data/tally.hpp"
#include "reports/records/record_stream.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

/// A kernel that has nothing but this key.
Variant only_named(const std::string& key) {
  Variant v;
  const std::size_t at = key.rfind('@'), slash = key.rfind('/', at);
  if (at == key.npos || slash == key.npos) throw InputError(key + ": is no key");
  const std::string types = key.substr(slash + 1, at - slash - 1), where = key.substr(at + 1);
  const std::size_t colon = types.find(':');
  const std::optional<Dtype> in = parse_dtype(types.substr(0, colon));
  if (!in) throw InputError(key + ": is no key");
  v.variant = key.substr(0, slash);
  v.dtype = *in;
  if (colon != types.npos) v.out_dtype = parse_dtype(types.substr(colon + 1));
  for (const Backend b : {Backend::host, Backend::host_fma, Backend::cuda, Backend::plugin})
    if (where == name(b)) v.backend = b;
  if (v.key() != key) throw InputError(key + ": is no key");
  return v;
}

void differs(Lines& found, const std::string& what, const char* member, const std::string& certified,
             const std::string& measured) {
  found.push_back(
      fmt::format("{}: its {} is {}, and its records have {}", what, member, certified, measured));
}

void compare_kernel(Lines& found, const CertifiedKernel& then, const CertifiedKernel& now) {
  const auto count = [&](const char* member, std::int64_t CertifiedKernel::*n) {
    if (then.*n != now.*n) differs(found, then.key, member, grouped(then.*n), grouped(now.*n));
  };
  count("planned", &CertifiedKernel::planned);
  count("passed", &CertifiedKernel::passed);
  count("failed", &CertifiedKernel::failed);
  count("inconclusive", &CertifiedKernel::inconclusive);
  count("unsupported", &CertifiedKernel::unsupported);
  count("not_run", &CertifiedKernel::not_run);
  count("too_coarse", &CertifiedKernel::too_coarse);
  count("tried_again", &CertifiedKernel::tried_again);
  count("rows_judged", &CertifiedKernel::rows_judged);
  count("core", &CertifiedKernel::core);
  count("core_beyond", &CertifiedKernel::core_beyond);
  count("lengths", &CertifiedKernel::lengths);
  count("least_V", &CertifiedKernel::least_V);
  count("most_V", &CertifiedKernel::most_V);
  count("most_rows", &CertifiedKernel::most_rows);
  const auto figure = [&](const char* member, std::optional<double> CertifiedKernel::*f) {
    if (!same_figure(then.*f, now.*f))
      differs(found, then.key, member, figure_text(then.*f), figure_text(now.*f));
  };
  figure("max_ulp", &CertifiedKernel::max_ulp);
  figure("max_ulp_ordinary", &CertifiedKernel::max_ulp_ordinary);
  figure("max_bound_ratio", &CertifiedKernel::max_bound_ratio);
  figure("resolution", &CertifiedKernel::resolution);
  figure("resolution_sum", &CertifiedKernel::resolution_sum);
  if (then.where != now.where) differs(found, then.key, "where", then.where, now.where);
  // Names and numbers of all checks, so that none can be left out.
  const auto said = [](const CertifiedKernel& k) {
    std::map<std::string, std::string> all;
    for (const CertifiedCheck& c : k.checks)
      all[c.name] =
          fmt::format("{}: {} judged, {} failed, {} undecided, utilisation {}, resolution {}", c.verdict,
                      c.judged, c.failed, c.undecided, c.utilisation, figure_text(c.resolution));
    return all;
  };
  auto certified = said(then), measured = said(now);
  for (const auto& all : {certified, measured})
    for (const auto& [check, words] : all) {
      if (certified[check] != measured[check])
        differs(found, then.key, ("check " + check).c_str(), "\"" + certified[check] + "\"",
                "\"" + measured[check] + "\"");
      certified[check] = measured[check];  // said once
    }
}

Record record_of(const CertifiedCase& c) {
  Record r;
  r.key = c.key, r.group = c.group, r.setup = c.setup, r.family = c.family, r.op = c.op;
  r.V = c.V, r.rows = c.rows, r.k = c.k, r.seed = c.seed;
  return r;
}

void compare_cases(Lines& found, const Certificate& c, const std::vector<Record>& records) {
  std::multimap<std::string, const Record*> by_identity;
  for (const Record& r : records) by_identity.emplace(identity(r), &r);
  for (const CertifiedCase& one : c.cases) {
    const auto [begin, end] = by_identity.equal_range(identity(record_of(one)));
    std::string how = "they have no such case";
    for (auto at = begin; at != end && !how.empty(); ++at)
      how = difference(one, *at->second, Agreement::bits);
    if (!how.empty())
      found.push_back(fmt::format("a case and the records of the check: {}: {}", how, one.reproduce));
  }
}

void compare_check(Lines& found, const Certificate& c, const fs::path& file) {
  ReportData data;
  for_each_record(file, [&](const Record& r) { data.records.push_back(r); });
  std::set<std::string> keys;
  for (const CertifiedKernel& k : c.kernels) {
    keys.insert(k.key);
    compare_kernel(found, k, certified_kernel(only_named(k.key), data));
  }
  for (const Record& r : data.records)
    if (keys.insert(r.key).second)
      found.push_back(r.key + ": it has records, and the certificate leaves it out");
  compare_cases(found, c, data.records);
  for (std::string& line : left_out_of_not_proved(c, open_after_check(c, data)))
    found.push_back(std::move(line));
}

void compare_fuzz(Lines& found, const CertifiedStep& s, const fs::path& file) {
  std::int64_t bad = 0;
  for_each_record(file, [&](const Record& r) {
    bad += r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung;
  });
  if (bad > 0 && s.state != StepState::failed)
    found.push_back(
        fmt::format("step fuzz is {}, and {} of its records are failures", name(s.state), grouped(bad)));
}

/// The files of what the search learned of one kernel. An earlier run may have left one of another file of
/// the same kernel.
std::vector<fs::path> corpora_of(const CertifiedKernel& k, const fs::path& folder) {
  const std::string end = ".corpus.jsonl", whole = fuzz::corpus_file(folder, k.key, {}).filename().string(),
                    begin = whole.substr(0, whole.size() - end.size());
  std::vector<fs::path> files;
  for (const fs::path& file : fuzz::corpus_files(folder)) {
    const std::string name = file.filename().string();
    if (name == whole || name.starts_with(begin + "-")) files.push_back(file);
  }
  return files;
}

/// True if one file of each of the kernels, from the first on, have this hash together.
bool have_hash(const std::vector<std::vector<fs::path>>& kernels, std::size_t first, const std::string& read,
               const std::string& hash) {
  if (first == kernels.size()) return sha256_of(read) == hash;
  return std::ranges::any_of(kernels[first], [&](const fs::path& file) {
    return have_hash(kernels, first + 1, read + read_file(file), hash);
  });
}

void compare_corpus(ComparedData& out, const Certificate& c, const CertifiedStep& s, const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    out.not_compared.push_back(fmt::format("step fuzz: {} is not there", folder.string()));
    return;
  }
  std::vector<std::vector<fs::path>> kernels;
  for (const CertifiedKernel& k : c.kernels)
    if (s.words.find(k.key + ": ") != s.words.npos) kernels.push_back(corpora_of(k, folder));
  constexpr double kMost = 1000;
  double ways = 1;
  for (const std::vector<fs::path>& files : kernels) ways *= static_cast<double>(files.size());
  if (ways > kMost)
    out.differences.push_back(
        fmt::format("step fuzz: {} holds more files than the search leaves", folder.string()));
  else if (!have_hash(kernels, 0, "", s.corpus_sha256))
    out.differences.push_back(
        fmt::format("step fuzz: what the search learned, in {}, has another SHA-256 than the certificate",
                    folder.string()));
}

void compare_functions(Lines& found, const CertifiedStep& s, const fs::path& file) {
  const nlohmann::json j = parse_json(read_file(file));
  std::int64_t planned = 0, executed = 0;
  for (const nlohmann::json& one : j.at("functions")) ++planned, executed += one.at("status") != "not_run";
  if (planned != s.planned || executed != s.executed)
    found.push_back(fmt::format("step functions: {} planned and {} executed, and its data have {} and {}",
                                s.planned, s.executed, planned, executed));
}

void compare_sweep(Lines& found, const Certificate& c, const fs::path& file) {
  const std::vector<SweepRecord> records = read_sweep(file);
  for (const CertifiedSpeed& s : c.speed)
    if (std::ranges::none_of(records, [&](const SweepRecord& r) {
          return r.key == s.key && r.rows == s.rows && r.V == s.V && r.k == s.k && r.verified == s.verified &&
                 same_figure(r.median_us, s.median_us) && same_figure(r.gb_per_s, s.gb_per_s) &&
                 same_figure(r.share_of_copy, s.share_of_copy) &&
                 (!s.share_of_fastest || same_figure(share_of_fastest(r), s.share_of_fastest));
        }))
      found.push_back(fmt::format("the speed of {}, {} rows, V = {}: step sweep measured no such time", s.key,
                                  s.rows, s.V));
}

void compare_step(Lines& found, const Certificate& c, const CertifiedStep& s, const fs::path& file) {
  try {
    if (s.name == "check") compare_check(found, c, file);
    if (s.name == "fuzz") compare_fuzz(found, s, file);
    if (s.name == "functions") compare_functions(found, s, file);
    if (s.name == "sweep") compare_sweep(found, c, file);
  } catch (const InputError& e) {
    found.emplace_back(e.what());
  } catch (const nlohmann::json::exception& e) {
    found.push_back(file.string() + ": " + plain_words(e));
  }
}

}  // namespace

ComparedData compare_data(const Certificate& c, const fs::path& folder) {
  ComparedData out;
  for (const CertifiedStep& s : c.steps) {
    if (s.data.empty()) continue;
    const fs::path file = folder / s.data;
    std::error_code none;
    if (!fs::is_regular_file(file, none)) {
      out.not_compared.push_back(fmt::format("step {}: {} is not there", s.name, file.string()));
      continue;
    }
    const std::string hash = sha256_of_file(file);
    if (hash != s.sha256)
      out.differences.push_back(
          fmt::format("step {}: {}: its SHA-256 is {}, and in the certificate {} (if another "
                      "run wrote into this folder, give the certificate a folder of its own)",
                      s.name, file.string(), hash, s.sha256));
    else
      compare_step(out.differences, c, s, file);
    if (!s.corpus_sha256.empty()) compare_corpus(out, c, s, file.parent_path() / "corpus");
  }
  return out;
}

}  // namespace assay
