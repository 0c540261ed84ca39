// SPDX-License-Identifier: Apache-2.0
// What a worker of a callable is told. It stands behind the library in the file that the interpreter loads
// (python_kernel.cpp writes it), so that no command line and no environment shows it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::python {

struct Words {
  bool is_file = false;
  std::string place;     // absolute path, or a module's name
  std::string source;    // of a file: its bytes. Every worker executes these, whatever the file holds by then
  std::string function;  // "softmax", "Layer.forward"
  std::string name;      // of the variant
  std::string op;
  std::string pairs;                   // "f32 f16:f32"
  std::string where;                   // "host" by --host, "none" if no GPU is usable, otherwise "gpu"
  std::vector<std::string> arguments;  // of --arg
};

inline constexpr std::string_view kWordsEnd = "\x01words\x02\n";

/// Each text with its length before it; then the length of all, and kWordsEnd.
inline std::string written(const Words& w) {
  std::string all;
  const auto put = [&](std::string_view text) {
    const std::uint64_t n = text.size();
    all.append(reinterpret_cast<const char*>(&n), sizeof n).append(text);
  };
  for (const std::string& text : {std::string(w.is_file ? "file" : "module"), w.place, w.source, w.function,
                                  w.name, w.op, w.pairs, w.where})
    put(text);
  for (const std::string& text : w.arguments) put(text);
  const std::uint64_t n = all.size();
  return all.append(reinterpret_cast<const char*>(&n), sizeof n).append(kWordsEnd);
}

/// Reads what `written` has written at the end of `file`.
inline std::optional<Words> read_words(std::string_view file) {
  std::uint64_t n = 0;
  if (file.size() < sizeof n + kWordsEnd.size() || !file.ends_with(kWordsEnd)) return {};
  file.remove_suffix(kWordsEnd.size() + sizeof n);
  std::memcpy(&n, file.data() + file.size(), sizeof n);
  if (n > file.size()) return {};
  file.remove_prefix(file.size() - n);
  std::vector<std::string> all;
  while (file.size() >= sizeof n) {
    std::memcpy(&n, file.data(), sizeof n);
    if (n > file.size() - sizeof n) return {};
    all.emplace_back(file.substr(sizeof n, n));
    file.remove_prefix(sizeof n + n);
  }
  if (all.size() < 8) return {};
  return Words{
      all[0] == "file", all[1], all[2], all[3], all[4], all[5], all[6], all[7], {all.begin() + 8, all.end()}};
}

}  // namespace assay::python
