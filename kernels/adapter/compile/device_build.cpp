// SPDX-License-Identifier: Apache-2.0
// Compiles a file with nvcc.
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/included_files.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/file_writing.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

bool has_flag(const std::vector<std::string>& flags, std::initializer_list<const char*> starts) {
  return std::any_of(flags.begin(), flags.end(), [&](const std::string& f) {
    return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return f.starts_with(s); });
  });
}

}  // namespace

CompiledFile compile_for_device(const OneFile& file) {
  const fs::path source = fs::absolute(file.source).lexically_normal();
  const fs::path build = build_folder(file.build_dir);
  const fs::path headers = write_headers(build);
  const std::string nvcc = find_nvcc();
  const fs::path scratch = unique_part(build / "version");
  const std::string version = version_of({nvcc}, scratch.string());
  std::error_code ignored;
  fs::remove(scratch, ignored);
  const std::vector<std::string> flags = split_words(file.nvcc_flags);
  const std::string adapter = adapter_of(file);
  std::vector<std::string> words = {nvcc,
                                    "-shared",
                                    "-O3",
                                    "-lineinfo",
                                    "-w",
                                    "-Xcompiler=-fPIC,-fvisibility=hidden",
                                    "-I" + headers.string()};
  if (!has_flag(flags, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    words.push_back(gpu_architecture());
  if (!has_flag(flags, {"-std", "--std"})) words.push_back("-std=c++17");
  // The flags with which extensions are usually built.
  for (const char* usual : {"--expt-relaxed-constexpr", "--extended-lambda"})
    if (!has_flag(flags, {usual})) words.push_back(usual);
  words.insert(words.end(), flags.begin(), flags.end());
  Fingerprint f;
  f << command_text(words) << version << adapter;
  std::set<fs::path> seen;
  add_contents(f, source, include_folders(flags), seen);
  const std::string name = source.stem().string() + "-" + f.text().substr(0, 16);
  write_text(build / (name + "_adapter.cu"), adapter);
  words.push_back((build / (name + "_adapter.cu")).string());
  return finish_build(file, seen, build / (name + ".so"), std::move(words), version);
}

}  // namespace assay
