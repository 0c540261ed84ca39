// SPDX-License-Identifier: Apache-2.0
// Compiles a file with nvcc.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/cache/sealed_build.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/included_files.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

bool has_flag(const std::vector<std::string>& flags, std::initializer_list<const char*> starts) {
  return std::any_of(flags.begin(), flags.end(), [&](const std::string& f) {
    return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return f.starts_with(s); });
  });
}

/// Removes -arch=native: what it means depends on the machine. False if it was not there.
bool without_native(std::vector<std::string>& flags) {
  bool found = false;
  for (std::size_t i = 0; i < flags.size();) {
    const bool one = flags[i] == "-arch=native" || flags[i] == "--gpu-architecture=native";
    const bool two = (flags[i] == "-arch" || flags[i] == "--gpu-architecture") && i + 1 < flags.size() &&
                     flags[i + 1] == "native";
    if (one || two)
      flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(i),
                  flags.begin() + static_cast<std::ptrdiff_t>(i + (two ? 2 : 1)));
    else
      ++i;
    found = found || one || two;
  }
  return found;
}

}  // namespace

CompiledFile compile_for_device(const OneFile& file) {
  const fs::path source = fs::absolute(file.source).lexically_normal();
  const fs::path build = build_folder(file.build_dir);
  isolation::sandbox_keeps(build.string());
  const Scratch scratch(build);
  SystemHashes hashes(build);
  const fs::path headers = write_headers(build);
  const std::string nvcc = find_nvcc();
  std::vector<std::string> flags = split_words(file.nvcc_flags);
  const Compiler compiler = known_nvcc(nvcc, flags, build, hashes);
  const std::string adapter = adapter_of(file);
  std::vector<std::string> words = {nvcc,
                                    "-shared",
                                    "-O3",
                                    "-lineinfo",
                                    "-w",
                                    "-Xcompiler=-fPIC,-fvisibility=hidden",
                                    "-I" + headers.string()};
  if (without_native(flags) ||
      !has_flag(flags, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    for (std::string& word : gpu_architecture(nvcc, (scratch.path() / "gpus").string()))
      words.push_back(std::move(word));
  if (!has_flag(flags, {"-std", "--std"})) words.push_back("-std=c++17");
  // The flags with which extensions are usually built.
  for (const char* usual : {"--expt-relaxed-constexpr", "--extended-lambda"})
    if (!has_flag(flags, {usual})) words.push_back(usual);
  words.insert(words.end(), flags.begin(), flags.end());
  const std::string stem = plain_name(source.stem().string());
  const fs::path adapter_path = build / (stem + "-" + sha256_of(adapter).substr(0, 16) + "_adapter.cu");
  write_text(adapter_path, adapter);
  words.push_back(adapter_path.string());

  const std::map<fs::path, std::string> texts = included_texts(source, include_folders(flags));
  BuildOrder order{.file = file,
                   .compiler = compiler,
                   .words = std::move(words),
                   .adapter = adapter,
                   .folder = build,
                   .stem = stem,
                   .suffix = ".so",
                   .by_nvcc = true};
  for (const auto& [path, text] : texts) order.texts.insert(path);
  const Workplace at{scratch.path(), folders_to_read(order.texts, flags, build)};
  if (!can_ask(file,
               [&] { return ask_nvcc(compiler, order.words, at.read, at.scratch, hashes, order.read); }))
    order.why_anew = at.scratch.string();
  leave_out(order.read, headers);
  const std::string own = fs::canonical(adapter_path).string();
  std::erase_if(order.read.files, [&](const HashedFile& f) { return f.path == own; });
  // What stands in a branch that was not compiled is counted, too: not every nvcc lists what each of its
  // passes reads.
  for (const auto& [path, text] : texts) {
    const std::string real = fs::canonical(path).string();
    if (std::none_of(order.read.files.begin(), order.read.files.end(),
                     [&](const HashedFile& f) { return f.path == real; }) &&
        !is_system_file(real, compiler))
      order.read.files.push_back({real, sha256_of(text)});
  }
  // The list does not say which files were asked for and are not there.
  for (const HashedFile& f : order.read.files)
    if (read_text(f.path).find("__has_include") != std::string::npos) order.why_anew = at.scratch.string();
  return finish_build(order, at, hashes);
}

}  // namespace assay
