// SPDX-License-Identifier: Apache-2.0
// Compiles a file with nvcc.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/own_object.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/adapter/units/variant_lines.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"

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

/// True for an option whose value is the next word.
bool takes_a_value(const std::string& flag) {
  for (const char* one :
       {"-I", "-D", "-U", "-L", "-l", "-include", "-isystem", "-Xcompiler", "-Xptxas", "-Xlinker", "-std",
        "-arch", "-code", "-gencode", "-ccbin", "-maxrregcount", "-diag-suppress", "-default-stream"})
    if (flag == one || flag == std::string("-") + one) return true;
  return false;
}

/// Gives each command what concerns it.
void divide_flags(const std::vector<std::string>& flags, Commands& c) {
  bool kept = true;  // the word in front, whose value this one may be
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const bool value = i > 0 && takes_a_value(flags[i - 1]);
    // Another file is only linked. Everything else is for the author's file and the linker.
    if (value || flags[i].starts_with("-")) c.author.push_back(flags[i]);
    c.link.push_back(flags[i]);
    // The adapter gets what says for which machine, compiler and stream, and no macro and header of the
    // file's.
    if (!value)
      kept = flags[i].starts_with("-") &&
             !has_flag({flags[i]}, {"-D", "-U", "-I", "-include", "-isystem", "--define", "--undefine",
                                    "--include", "--pre-include", "--system-include"});
    if (kept || flags[i].starts_with("-DCUDA_API_PER_THREAD_DEFAULT_STREAM")) c.adapter.push_back(flags[i]);
  }
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
  const std::vector<EntrySignature> entries = entries_of(file);
  std::vector<std::string> words = {nvcc, "-O3", "-lineinfo", "-w", "-Xcompiler=-fPIC,-fvisibility=hidden"};
  if (without_native(flags) ||
      !has_flag(flags, {"-arch", "--gpu-architecture", "-gencode", "--generate-code"}))
    for (std::string& word : gpu_architecture(nvcc, (scratch.path() / "gpus").string()))
      words.push_back(std::move(word));
  if (!has_flag(flags, {"-std", "--std"})) words.push_back("-std=c++17");
  // The flags with which extensions are usually built.
  for (const char* usual : {"--expt-relaxed-constexpr", "--extended-lambda"})
    if (!has_flag(flags, {usual})) words.push_back(usual);
  Commands c;
  c.author = c.adapter = c.link = words;
  c.link.push_back("-shared");
  divide_flags(flags, c);
  if (entries.empty() && includes_variant_header(read_text(source)))
    c.author.push_back("-I" + headers.string());  // it names them itself
  c.adapter.push_back("-I" + headers.string());
  c.define = "-Xlinker=--defsym=";
  c.first_line = "#line 1 " + c_string(source.string()) + "\n";
  const std::string stem = plain_name(source.stem().string());
  const fs::path own =
      build / (stem + "-" + sha256_of(source.string() + command_text(c.author)).substr(0, 16));
  // nvcc runs its words through a shell, so they hold plain names only.
  fs::create_directories(own);
  std::error_code error;
  if (!fs::is_symlink(own / "beside", error))
    fs::create_directory_symlink(source.parent_path(), own / "beside");
  c.beside.push_back("-Xcompiler=-iquote," + (own / "beside").string());
  c.alone = source;
  if (std::any_of(source.begin(), source.end(),
                  [](const fs::path& one) { return one != "/" && one != plain_name(one.string()); })) {
    c.alone = own / "alone" / (stem + source.extension().string());
    write_text(c.alone, c.first_line + read_text(source));
    c.author.insert(c.author.end(), c.beside.begin(), c.beside.end());
    c.first_line.clear();
  }
  c.with_calls = own / (stem + source.extension().string());
  c.adapter_source = own / "the_adapter.cu";

  const std::map<fs::path, std::string> texts = included_texts(source, include_folders(flags));
  BuildOrder order{.file = file,
                   .compiler = compiler,
                   .own = {headers, own},
                   .folder = build,
                   .stem = stem,
                   .suffix = ".so",
                   .by_nvcc = true,
                   .make = {}};
  for (const auto& [path, text] : texts) order.texts.insert(path);
  const Workplace at{scratch.path(), folders_to_read(order.texts, flags, build), moment_of(texts)};
  std::vector<std::string> asked = c.author;
  asked.push_back(c.alone.string());
  if (!can_ask(file, [&] { return ask_nvcc(compiler, asked, at.read, at.scratch, hashes, order.read); }))
    order.why_anew = at.scratch.string();
  leave_out(order.read, headers);
  leave_out(order.read, own);
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
  for (const HashedFile& f : order.read.files) {
    std::string text = read_text(f.path);
    for (const char* const splice : {"\\\n", "\\\r\n"})
      for (std::size_t i; (i = text.find(splice)) != text.npos;)
        text.erase(i, std::string_view(splice).size());
    if (text.find("__has_include") != text.npos) order.why_anew = at.scratch.string();
  }
  const Units units = units_of(file, entries, headers, order.read);
  order.adapter = text_of(units, c) + command_text(c.link);
  order.words = c.author;
  order.words.insert(order.words.end(), {"-c", source.string()});
  for (std::string& word : list_what_is_linked(order, at)) c.link.push_back(std::move(word));
  order.make = [&](const fs::path& part, const fs::path& log) {
    return build_objects(file, units, c, at, part, log);
  };
  return finish_build(order, at, hashes);
}

}  // namespace assay
