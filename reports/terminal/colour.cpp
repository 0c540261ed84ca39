// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/colour.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kernels/isolation/shared/plain_text.hpp"

namespace assay {
namespace {

constexpr std::string_view kGreen = "\033[1;32m", kRed = "\033[1;31m", kYellow = "\033[1;33m",
                           kEnd = "\033[0m";
constexpr std::pair<std::string_view, std::string_view> kVerdicts[] = {
    {"PASS", kGreen},     {"FAIL", kRed},          {"INCONCLUSIVE", kYellow},   {"INCOMPLETE", kYellow},
    {"NOT RUN", kYellow}, {"NOT JUDGED", kYellow}, {"JUDGED IN PART", kYellow}, {"NOT COVERED", kRed}};

std::string painted(std::string_view line) {
  for (const auto& [word, colour] : kVerdicts)
    if (line.starts_with(word) &&
        (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == ':'))
      return std::string(colour) + std::string(word) + std::string(kEnd) +
             std::string(line.substr(word.size()));
  return std::string(line);
}

}  // namespace

bool wants_colour(int descriptor) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) != 0 && !(no && *no) && term && std::string_view(term) != "dumb";
}

std::string coloured(const std::string& text) {
  std::string out;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    out += painted(rest.substr(0, end));
    if (end == rest.npos) break;
    out += '\n';
    rest.remove_prefix(end + 1);
  }
  return out;
}

void print_verdict(const std::string& text) {
  const std::string plain = isolation::plain_text(text);
  const std::string shown = wants_colour(STDOUT_FILENO) ? coloured(plain) : plain;
  std::fwrite(shown.data(), 1, shown.size(), stdout);
}

}  // namespace assay
