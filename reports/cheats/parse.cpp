// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <sstream>

#include "kernels/adapter/embedded.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/shared/confinement.hpp"
#include "reference/error.hpp"
#include "reports/cheats/cheats.hpp"

namespace assay::cheats {
namespace {

constexpr std::array kVerbs = {"needs", "plugin", "file",   "write", "pipe",  "edit",  "env",       "within",
                               "stop",  "run",    "status", "says",  "lacks", "holds", "holds_not", "absent"};
constexpr std::array kExpectations = {"status", "says", "lacks", "holds", "holds_not", "absent"};

bool among(const auto& all, const std::string& word) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(" \r");
  return begin == text.npos ? std::string() : text.substr(begin, end - begin + 1);
}

[[noreturn]] void refuse(int line, const std::string& why) {
  throw InputError("cheats.txt:" + std::to_string(line) + ": " + why);
}

void finish(const std::vector<Cheat>& cheats, int line) {
  if (cheats.empty()) return;
  const Cheat& c = cheats.back();
  if (c.what.empty()) refuse(line, "the cheat " + c.name + " has no line `what`");
  if (std::none_of(c.steps.begin(), c.steps.end(),
                   [](const Step& s) { return among(kExpectations, s.verb); }))
    refuse(line, "the cheat " + c.name + " expects nothing");
  for (std::size_t i = 0; i < c.steps.size(); ++i)
    if (c.steps[i].verb == "stop" && (i + 1 == c.steps.size() || c.steps[i + 1].verb != "run"))
      refuse(c.steps[i].line, "stop needs a run behind it");
}

}  // namespace

std::vector<Cheat> parse(std::string_view text) {
  std::vector<Cheat> all;
  std::istringstream in{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line[0] == '#') continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string verb = line.substr(0, blank), rest = trimmed(line.substr(blank));
    if (verb == "cheat") {
      finish(all, number);
      if (rest.empty()) refuse(number, "a cheat needs a name");
      if (std::any_of(all.begin(), all.end(), [&](const Cheat& c) { return c.name == rest; }))
        refuse(number, "there is a cheat " + rest + " already");
      all.push_back({rest, {}, {}});
    } else if (all.empty()) {
      refuse(number, "the first line must be `cheat NAME`");
    } else if (verb == "what") {
      all.back().what = rest;
    } else if (verb == "guard") {
      if (rest != "any") refuse(number, "a guard is `any`");
      all.back().under_each = false;
    } else if (!among(kVerbs, verb)) {
      refuse(number, "no step is called " + verb);
    } else if (rest.empty()) {
      refuse(number, verb + " needs words behind it");
    } else {
      all.back().steps.push_back({number, verb, rest});
    }
  }
  finish(all, number);
  if (all.empty()) refuse(number, "holds no cheat");
  return all;
}

const std::vector<Cheat>& all() {
  static const std::vector<Cheat> cheats = [] {
    for (const EmbeddedText& t : cheat_texts())
      if (t.path == "reports/cheats/cheats.txt") return parse(t.text);
    throw InputError("this program holds no cheats.txt");
  }();
  return cheats;
}

std::vector<Guard> guards(const Cheat& cheat) {
  std::vector<Guard> work;
  const ::assay::Guard first = isolation::guard_of(isolation::Reach::host);
  if (first == ::assay::Guard::bubblewrap) work.push_back(Guard::bubblewrap);
  if (first != ::assay::Guard::none && isolation::landlock_version() > 0) work.push_back(Guard::landlock);
  if (!cheat.under_each && work.size() > 1) work.resize(1);
  return work;
}

const char* name(Guard g) { return g == Guard::bubblewrap ? "bubblewrap" : "landlock"; }

}  // namespace assay::cheats
