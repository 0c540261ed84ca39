// The options that commands share, and the one reader of whole numbers behind them. CLI11's own takes 010 for
// 8, "" for 0 and " 5" for 5.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace assay {

/// The whole numbers that an option takes. Negative ones are none of them.
struct WholeRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool hexadecimal = false;  // 0x10 too
};

/// The number that `text` writes in plain decimal: digits alone, no leading 0. Throws InputError, a line that
/// names `option`, where it is none or outside the range.
std::uint64_t whole_number(const std::string& option, const std::string& text, const WholeRange& range = {});

/// A check whose own words, "INT in [1 - 1024]", stay out of --help: the option's say what it takes.
inline CLI::Validator unsaid(const CLI::Validator& check) { return check.description(""); }

namespace option_kit {

template <class T>
struct NumberOf {
  using Type = T;
};
template <class T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};
template <class T>
struct NumberOf<std::vector<T>> : NumberOf<T> {};

CLI::Validator reader(const std::string& option, const WholeRange& range);

}  // namespace option_kit

/// An option of whole numbers: one, one that may be absent, or several.
template <class T>
CLI::Option* add_whole(CLI::App& command, const std::string& option, T& into, const std::string& what,
                       WholeRange range = {}) {
  using Number = typename option_kit::NumberOf<T>::Type;
  static_assert(std::is_integral_v<Number>);
  range.most = std::min<std::uint64_t>(range.most, std::numeric_limits<Number>::max());
  return command.add_option(option, into, what)->transform(option_kit::reader(option, range));
}

/// --seed, which is also read as 0x10.
CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& what = "seed of the inputs");

/// --threads, 1 to 1024; unset it stays 0.
CLI::Option* add_threads(CLI::App& command, int& threads,
                         const std::string& what = "worker threads (one per core)");

/// --out, a folder or a file: not an empty word.
CLI::Option* add_out(CLI::App& command, std::string& out, const std::string& what);

/// --family, one name or several of assay list --families. Whoever draws the rows asks family_named.
CLI::Option* add_family(CLI::App& command, std::string& family);
CLI::Option* add_family(CLI::App& command, std::vector<std::string>& families);

CLI::Option* add_device(CLI::App& command, int& device);
/// Throws InputError where there is no such device.
void choose_device(int device);

CLI::Option* add_require(CLI::App& command, std::string& require);
/// The device, and what is required: throws EnvironmentError where that is not here.
void choose_machine(const std::string& require, int device);

}  // namespace assay
