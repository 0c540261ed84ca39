// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/judged_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/candidate.hpp"
#include "kernels/isolation/process/process.hpp"
#include "kernels/python/python_kernel.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/targets/candidates.hpp"

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

namespace {

/// As seen from the file that includes it, so that it is the same where a project lies elsewhere.
std::string seen_from(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const std::filesystem::path relative = file.lexically_relative(folder);
  return relative.empty() ? file.string() : relative.string();
}

/// True for the text of the calls, which this program writes into the build folder.
bool is_adapter(const CompiledFile& made, const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::path(made.path).parent_path();
  return file.stem() == "the_adapter" && file.string().starts_with(folder.string() + "/");
}

/// What the compiler has read beside the source. The files of the system are hundreds: they are one line.
std::vector<CertifiedFile> included(const CompiledFile& made, CertifiedFile& source) {
  std::error_code unknown;
  const std::filesystem::path own = std::filesystem::canonical(source.path, unknown);
  std::vector<CertifiedFile> all;
  for (const HashedFile& f : made.files)
    if (f.path == own)
      source.sha256 = f.sha256;  // as it was compiled
    else if (!is_adapter(made, f.path))
      all.push_back({"include", seen_from(own.parent_path(), f.path), f.sha256});
  Sha256 system;
  for (const HashedFile& f : made.system) system.add(f.sha256 + ' ' + f.path + '\n');
  all.push_back(
      {"system", fmt::format("{} headers and libraries of the system", made.system.size()), system.hex()});
  all.push_back({"compiler", made.compiler_path + " (" + made.compiler + ")", made.compiler_sha256});
  return all;
}

}  // namespace

std::vector<CertifiedFile> judged_files(const std::string& word, const std::vector<Target>& targets) {
  std::vector<CertifiedFile> files = named_file(word);
  if (targets.empty()) return files;
  const Target& one = targets.front();
  // As it was executed, whatever the file holds by now.
  if (const std::string hash = files.empty() ? "" : executed_sha256(files[0].path); !hash.empty())
    files[0].sha256 = hash;
  if (one.variant.backend != Backend::plugin) {
    files.push_back({"source", one.variant.file});
    const std::string worker = isolation::worker_executable("");  // this program, but for its tests
    std::error_code unknown;
    const std::filesystem::path path = std::filesystem::canonical(worker, unknown);  // of /proc/self/exe
    files.push_back({"binary", unknown ? worker : path.string(), sha256_of_file(worker)});
  } else if (!one.binary.empty() && (files.empty() || files[0].role == "source")) {
    std::vector<CertifiedFile> read;
    const std::optional<CompiledFile> made = compiled_of(one.variant);
    if (made && !files.empty()) read = included(*made, files[0]);
    const auto behind =
        std::find_if(read.begin(), read.end(), [](const CertifiedFile& f) { return f.role != "include"; });
    files.insert(files.end(), read.begin(), behind);
    files.push_back({"binary", one.binary, sha256_of_file(one.binary)});
    files.insert(files.end(), behind, read.end());
  }
  // What the workers loaded, whatever the path names by now.
  if (const auto& told = one.variant.launcher)
    for (CertifiedFile& f : files)
      if (f.role == "binary" && !told->loaded_sha256().empty()) f.sha256 = told->loaded_sha256();
  return files;
}

std::vector<std::string> not_hashed(const std::string& word) {
  if (is_python_callable(word))
    return {
        "the Python interpreter and the packages that it has installed: their names and versions are here, "
        "and no hash of their code"};
  return {};
}

std::vector<std::string> left_out_of_source(const CertifiedTarget& target) {
  if (!target.host || !is_source_file(target.word)) return {};
  OneFile file;
  file.source = path_in(target.word);
  file.nvcc_flags = target.nvcc_flags;
  file.host = true;
  std::error_code none;
  return std::filesystem::is_regular_file(file.source, none) ? said_left_out(file)
                                                             : std::vector<std::string>();
}

}  // namespace assay
