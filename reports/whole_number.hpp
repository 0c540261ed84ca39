// Numbers on the command line: CLI11 takes "" for 0, 010 for 8, and wraps what is too large.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace assay {

/// Plain decimal, with a sign or without.
inline CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        const std::string digits = text.starts_with('-') ? text.substr(1) : text;
        const bool plain = !digits.empty() && digits.size() < 20 &&
                           digits.find_first_not_of("0123456789") == std::string::npos &&
                           (digits == "0" || digits[0] != '0');
        return plain ? std::string() : "'" + text + "' is not a whole number";
      },
      "");
}

/// A check whose own words, "INT in [1 - 1024]", stay out of --help: the option's say what it takes.
inline CLI::Validator unsaid(const CLI::Validator& check) { return check.description(""); }

inline CLI::Validator natural_number() {
  return CLI::Validator(
      [](std::string& text) { return text.starts_with('-') ? "must be 0 or more" : std::string(); }, "");
}

}  // namespace assay
