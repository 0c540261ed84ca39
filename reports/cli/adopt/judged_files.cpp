// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/judged_files.hpp"

#include <filesystem>

#include "kernels/isolation/process/process.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/targets/python_candidates.hpp"

namespace assay {

CertifiedTarget certified_target(const TargetOptions& o) {
  CertifiedTarget t;
  t.word = o.words.at(0);
  t.entry = o.source.entry;
  t.args = o.source.args;
  t.host = o.source.host;
  t.nvcc_flags = o.source.nvcc_flags;
  t.declare = o.source.declare;
  t.name = o.source.name;
  t.op = o.source.op;
  t.types = o.source.dtypes;
  t.python = o.source.python;
  t.timeout_seconds = o.timeout_seconds;
  return t;
}

TargetOptions target_options(const CertifiedTarget& t) {
  TargetOptions o;
  o.words = {t.word};
  o.source.entry = t.entry;
  o.source.args = t.args;
  o.source.host = t.host;
  o.source.nvcc_flags = t.nvcc_flags;
  o.source.declare = t.declare;
  o.source.name = t.name;
  o.source.op = t.op;
  o.source.dtypes = t.types;
  o.source.python = t.python;
  o.timeout_seconds = t.timeout_seconds;
  return o;
}

std::vector<CertifiedFile> named_file(const std::string& word) {
  const std::filesystem::path path = path_in(word);
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return {};
  const bool source = is_source_file(word) || is_python_callable(word);
  return {{source ? "source" : "binary", path.string(), sha256_of_file(path)}};
}

std::vector<CertifiedFile> judged_files(const std::string& word, const std::vector<Target>& targets) {
  std::vector<CertifiedFile> files = named_file(word);
  if (targets.empty()) return files;
  const Target& one = targets.front();
  if (one.variant.backend != Backend::plugin) {
    files.push_back({"source", one.variant.file});
    const std::string worker = isolation::worker_executable("");  // this program, but for its tests
    std::error_code unknown;
    const std::filesystem::path path = std::filesystem::canonical(worker, unknown);  // of /proc/self/exe
    files.push_back({"binary", unknown ? worker : path.string(), sha256_of_file(worker)});
  } else if (!one.binary.empty() && (files.empty() || files[0].role == "source")) {
    files.push_back({"binary", one.binary, sha256_of_file(one.binary)});
  }
  return files;
}

std::vector<std::string> not_hashed(const std::string& word) {
  if (is_python_callable(word)) return {"the Python interpreter and its modules: they are in no hash"};
  if (is_source_file(word))
    return {"what the source includes: its own hash is of the one file; the binary's covers all"};
  return {};
}

}  // namespace assay
