// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/flags.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <system_error>

#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

bool all_of(std::string_view text, std::string_view more) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.find(c) != more.npos;
  });
}

bool is_macro_name(std::string_view text) {
  return !text.empty() && all_of(text, "_") && std::isdigit(static_cast<unsigned char>(text[0])) == 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// NAME or NAME=VALUE. A comma would begin another definition, and the others mean something to a shell.
bool is_definition(std::string_view text, const fs::path&) {
  const std::size_t equal = text.find('=');
  return is_macro_name(text.substr(0, equal)) &&
         (equal == text.npos || all_of(text.substr(equal + 1), "_.:+*/%=-"));
}

bool is_undefinition(std::string_view text, const fs::path&) { return is_macro_name(text); }

bool is_inside(std::string_view text, const fs::path& folder) {
  if (text.empty() || text[0] == '-' || text[0] == '~' || !all_of(text, "_./+- ")) return false;
  const fs::path path = text;
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end()) return false;
  std::error_code error;
  const fs::path top = fs::weakly_canonical(folder, error);
  if (error) return false;
  const fs::path whole = fs::weakly_canonical(top / path, error);
  return !error && std::mismatch(top.begin(), top.end(), whole.begin(), whole.end()).first == top.end();
}

/// sm_90, compute_90a, lto_90.
bool is_architecture(std::string_view text) {
  for (const std::string_view kind : {"sm_", "compute_", "lto_"})
    if (text.starts_with(kind)) {
      text.remove_prefix(kind.size());
      if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) text.remove_suffix(1);
      return is_number(text);
    }
  return false;
}

bool are_architectures(std::string_view text) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!is_architecture(text.substr(0, comma))) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool is_gpu(std::string_view text, const fs::path&) {
  return text == "native" || text == "all" || text == "all-major" || is_architecture(text);
}

bool are_gpus(std::string_view text, const fs::path&) { return are_architectures(text); }

/// arch=compute_90,code=sm_90 or arch=compute_90,code=[sm_90,compute_90].
bool is_code(std::string_view text, const fs::path&) {
  constexpr std::string_view kArch = "arch=", kCode = ",code=";
  if (!text.starts_with(kArch)) return false;
  text.remove_prefix(kArch.size());
  const std::size_t code = text.find(kCode);
  if (code == text.npos || !is_architecture(text.substr(0, code))) return false;
  text.remove_prefix(code + kCode.size());
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  return are_architectures(text);
}

bool is_level(std::string_view text, const fs::path&) {
  return text.size() == 1 && text[0] >= '0' && text[0] <= '3';
}

bool is_standard(std::string_view text, const fs::path&) {
  if (!text.starts_with("c++") && !text.starts_with("gnu++")) return false;
  text.remove_prefix(text.find('+') + 2);
  return text.size() == 2 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 && all_of(text, "");
}

bool is_switch(std::string_view text, const fs::path&) { return text == "true" || text == "false"; }
bool is_count(std::string_view text, const fs::path&) { return is_number(text); }
bool is_stream(std::string_view text, const fs::path&) {
  return text == "legacy" || text == "null" || text == "per-thread";
}

bool are_numbers(std::string_view text, const fs::path&) {
  return !text.empty() && text.size() <= 200 && std::isdigit(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || c == ','; });
}

bool each_among(std::string_view text, std::string_view known) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!is_word_of(known, text.substr(0, comma))) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

/// Words of the host compiler. None names a file, a program or a plugin.
bool are_host_words(std::string_view text, const fs::path&) {
  return each_among(text,
                    "-O0 -O1 -O2 -O3 -g -w -Wall -Wextra -fPIC -fpic -Wno-unused-parameter "
                    "-fvisibility=hidden -fno-strict-aliasing -fno-exceptions -ffp-contract=off "
                    "-ffp-contract=fast -ffast-math -march=native");
}

/// Words of ptxas.
bool are_ptxas_words(std::string_view text, const fs::path&) {
  return each_among(text,
                    "-O0 -O1 -O2 -O3 -v --verbose -warn-spills --warn-on-spills -warn-lmem-usage "
                    "--warn-on-local-memory-usage -dlcm=ca -dlcm=cg -dscm=wb -dscm=cg "
                    "--allow-expensive-optimizations=true -allow-expensive-optimizations=true");
}

/// An option with a value. `name` and `word` are spelled without dashes.
struct Valued {
  std::string_view name, word;  // -D, --define-macro
  bool (*fits)(std::string_view value, const fs::path& folder);
  bool glued;  // the value may follow the short name at once
};
constexpr Valued kValued[] = {{"D", "define-macro", is_definition, true},
                              {"U", "undefine-macro", is_undefinition, true},
                              {"I", "include-path", is_inside, true},
                              {"isystem", "system-include", is_inside, false},
                              {"include", "pre-include", is_inside, false},
                              {"O", "optimize", is_level, true},
                              {"arch", "gpu-architecture", is_gpu, false},
                              {"code", "gpu-code", are_gpus, false},
                              {"gencode", "generate-code", is_code, false},
                              {"std", "std", is_standard, false},
                              {"ftz", "ftz", is_switch, false},
                              {"prec-div", "prec-div", is_switch, false},
                              {"prec-sqrt", "prec-sqrt", is_switch, false},
                              {"fmad", "fmad", is_switch, false},
                              {"rdc", "relocatable-device-code", is_switch, false},
                              {"maxrregcount", "maxrregcount", is_count, false},
                              {"t", "threads", is_count, false},
                              {"default-stream", "default-stream", is_stream, false},
                              {"diag-suppress", "diag-suppress", are_numbers, false},
                              {"Xcompiler", "compiler-options", are_host_words, false},
                              {"Xptxas", "ptxas-options", are_ptxas_words, false}};

/// Options without a value, with one dash or two.
constexpr std::string_view kPlain =
    "use_fast_math expt-relaxed-constexpr extended-lambda expt-extended-lambda lineinfo "
    "generate-line-info restrict extra-device-vectorization g debug G device-debug w disable-warnings m64 "
    "Wno-deprecated-gpu-targets res-usage resource-usage";

/// How many words the option at `at` has, or 0 if it is refused.
std::size_t allowed(const std::vector<std::string>& words, std::size_t at, const fs::path& folder) {
  const std::string_view whole = words[at];
  if (whole.size() < 2 || whole[0] != '-') return 0;
  const bool two = whole.starts_with("--");
  const std::string_view text = whole.substr(two ? 2 : 1);
  if (is_word_of(kPlain, text)) return 1;
  for (const Valued& v : kValued)
    for (const std::string_view name : {v.name, v.word}) {
      if (!text.starts_with(name)) continue;
      const std::string_view rest = text.substr(name.size());
      if (rest.empty()) return at + 1 < words.size() && v.fits(words[at + 1], folder) ? 2 : 0;
      if (rest[0] == '=' && name.size() > 1) return v.fits(rest.substr(1), folder) ? 1 : 0;
      if (v.glued && !two && name == v.name) return v.fits(rest, folder) ? 1 : 0;
    }
  return 0;
}

/// As it is shown: one line, and no more of it than tells which word it is.
std::string shown(std::string_view word) {
  std::string text;
  for (const char c : word.substr(0, 80)) text += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  return text + (word.size() > 80 ? "..." : "");
}

}  // namespace

std::string refused_flag(const std::vector<std::string>& words, const fs::path& folder) {
  for (std::size_t i = 0; i < words.size();) {
    const std::size_t taken = allowed(words, i, folder);
    if (taken == 0)
      return "compiler flag '" + shown(words[i]) +
             "' can not come from a file: only -D, -U, -I and -include inside its folder, the architecture, "
             "the "
             "standard and the arithmetic can. Type it with --nvcc-flags if you trust it";
    i += taken;
  }
  return {};
}

std::string refused_flag(const std::string& line, const fs::path& folder) {
  try {
    return refused_flag(split_words(line), folder);
  } catch (const InputError& e) {
    return shown(e.what());
  }
}

}  // namespace assay
