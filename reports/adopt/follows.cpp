// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/follows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "reports/adopt/conclude.hpp"
#include "reports/data/html.hpp"
#include "reports/data/tally.hpp"

namespace assay {
namespace {

using Lines = std::vector<std::string>;

/// The words of a command line, as a shell takes them apart: those in quotes are one.
Lines words_of(const std::string& text) {
  Lines words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote && c == quote) {
      quote = 0;
    } else if (!quote && (c == '\'' || c == '"')) {
      quote = c, any = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i], any = true;
    } else if (!quote && (c == ' ' || c == '\t' || c == '\n')) {
      if (any) words.push_back(std::move(word));
      word.clear(), any = false;
    } else {
      word += c, any = true;
    }
  }
  if (any) words.push_back(std::move(word));
  return words;
}

bool has(const Lines& words, std::string_view word) { return std::ranges::count(words, word) > 0; }

/// True if the words set a flag. They may also say it as --flag=on, as the parser of the command takes it.
bool set(const Lines& words, const std::string& flag) {
  for (const std::string& word : words) {
    if (word == flag) return true;
    if (!word.starts_with(flag + "=")) continue;
    std::string value = word.substr(flag.size() + 1);
    std::ranges::transform(value, value.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (number) return value.find_first_not_of('0') != value.npos;
    return has({"true", "on", "yes", "enable", "t", "y", "+"}, value);
  }
  return false;
}

/// "quick", "full" or "normal", as the words of a command line have it.
std::string extent_in(const Lines& words) {
  return set(words, "--quick") ? "quick" : set(words, "--full") ? "full" : "normal";
}

/// The word behind an option, also as --option=word; empty if it is not there.
std::string behind(const Lines& words, const std::string& option) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with(option + "=")) return words[i].substr(option.size() + 1);
  }
  return {};
}

/// What ran: the certificate says it for the whole, and its command and every case say it again.
void follow_extent(Lines& found, const Certificate& c) {
  const Lines command = words_of(c.command);
  if (extent_in(command) != c.extent)
    found.push_back(fmt::format("its extent is {}, and its command makes {}: {}", c.extent,
                                extent_in(command), c.command));
  if (c.only.empty() != behind(command, "--only").empty())
    found.push_back(fmt::format("it names {} groups of the check that ran alone, and its command is {}",
                                c.only.size(), c.command));
  for (const CertifiedCase& one : c.cases) {
    if (extent_in(words_of(one.reproduce)) != c.extent)
      found.push_back(
          fmt::format("its extent is {}, and that of a case is another: {}", c.extent, one.reproduce));
    if (!c.only.empty() && std::ranges::count(c.only, one.group) == 0)
      found.push_back(fmt::format("a case is of group {}, which did not run: {}", one.group, one.reproduce));
  }
}

/// Which inputs were asked for: the command says it, and every kernel.
void follow_required(Lines& found, const Certificate& c) {
  const Lines command = words_of(c.command);
  bool asked = false;
  for (std::size_t i = 0; i < command.size(); ++i)
    asked = asked ||
            (command[i].starts_with("--require=") && command[i].find('=', 10) != std::string::npos) ||
            (command[i] == "--require" && i + 1 < command.size() &&
             command[i + 1].find('=') != std::string::npos);
  for (const CertifiedKernel& k : c.kernels)
    if (k.passed > 0 && k.required.empty() == asked)
      found.push_back(fmt::format("{}: what is required of it is \"{}\", and its command is {}", k.key,
                                  k.required, c.command));
}

void follow_seeds(Lines& found, const Certificate& c) {
  const auto is = [&](const std::string& what, std::uint64_t seed) {
    if (seed != c.seed)
      found.push_back(fmt::format("its seed is {}, and that of {} is {}", c.seed, what, seed));
  };
  // The functions draw nothing.
  for (const CertifiedStep& s : c.steps)
    if (s.name != "functions" || s.seed != 0) is("step " + s.name, s.seed);
  for (const CertifiedCase& one : c.cases) is("a case: " + one.reproduce, one.seed);
  const std::string asked = behind(words_of(c.command), "--seed");
  if (!asked.empty() && std::strtoull(asked.c_str(), nullptr, 0) != c.seed)
    found.push_back(fmt::format("its seed is {}, and its command is {}", c.seed, c.command));
}

void follow_environment(Lines& found, const Certificate& c) {
  for (const char* label :
       {"assay", "system", "CPU", "host compiler", "CUDA compiler", "sandbox", "seed", "seed from"}) {
    const auto at = std::ranges::find(c.environment, label, &CertifiedFact::label);
    if (at == c.environment.end() || at->value.empty())
      found.push_back(fmt::format("its environment does not say: {}", label));
    else if (at->label == "seed from" && (at->value == "--seed") == c.seed_drawn)
      found.push_back(fmt::format("its seed was {}drawn, and its environment says that it is of: {}",
                                  c.seed_drawn ? "" : "not ", at->value));
    else if (at->label == "seed" && at->value != std::to_string(c.seed))
      found.push_back(fmt::format("its seed is {}, and that of its environment {}", c.seed, at->value));
  }
}

void follow_steps(Lines& found, const Certificate& c) {
  const Lines all = {"check", "fuzz", "functions", "sweep"};
  Lines there;
  for (const CertifiedStep& s : c.steps) there.push_back(s.name);
  for (const std::string& name : all)
    if (!has(there, name)) found.push_back(fmt::format("step {}: the certificate leaves it out", name));
  std::int64_t searched = 0;
  for (const CertifiedStep& s : c.steps) {
    if (s.planned < 0 || s.executed < 0)
      found.push_back(fmt::format("step {}: {} planned and {} executed", s.name, s.planned, s.executed));
    // Cases of a check that are all outside of the kernel's limits are executed, and nothing is judged.
    if (s.state == StepState::not_run && s.name != "check" && s.executed != 0)
      found.push_back(fmt::format("step {} did not run, and {} are executed", s.name, grouped(s.executed)));
    if (s.name != "fuzz" && s.executed > s.planned)
      found.push_back(fmt::format("step {}: {} planned, and {} executed", s.name, grouped(s.planned),
                                  grouped(s.executed)));
    if (s.name != "fuzz" || s.state == StepState::not_run) continue;
    // "KEY: 64 inputs, ...; KEY: ...": the name of one kernel may be the end of another's.
    for (const CertifiedKernel& k : c.kernels)
      searched += s.words.starts_with(k.key + ": ") || s.words.find("; " + k.key + ": ") != s.words.npos;
    const std::string asked = behind(words_of(c.command), "--evaluations");
    const std::string planned =
        asked.empty() || asked.size() > 12 || asked.find_first_not_of("0123456789") != asked.npos
            ? std::to_string(s.executed)
            : std::to_string(std::stoll(asked) * searched);
    if (planned != std::to_string(s.planned))
      found.push_back(
          fmt::format("step fuzz: {} inputs planned, and its command and words make {}", s.planned, planned));
    if (s.corpus_sha256.empty()) found.emplace_back("step fuzz: it has no hash of what the search learned");
  }
  const auto sweep = std::ranges::find(c.steps, "sweep", &CertifiedStep::name);
  if (sweep != c.steps.end() && sweep->executed > 0 &&
      !sweep->words.starts_with(
          fmt::format("{} of {} configurations were timed", sweep->executed, sweep->planned)))
    found.push_back(fmt::format("step sweep: {} of {} executed, and its words are: {}", sweep->executed,
                                sweep->planned, sweep->words));
}

/// The checks that a kernel must have for the figures that it has.
void follow_kernel(Lines& found, const Certificate& c, const CertifiedKernel& k) {
  const auto has_check = [&](std::string_view check) {
    return std::ranges::find(k.checks, check, &CertifiedCheck::name) != k.checks.end();
  };
  Lines missing;
  // Properties are no launches of their own; every case that can be replayed is one.
  const bool launched = std::ranges::any_of(c.cases, [&](const CertifiedCase& one) {
    return one.key == k.key && one.status == name(Status::pass) && one.group != "properties" && one.V > 0 &&
           one.rows > 0;
  });
  if (launched)
    for (const char* check : {"launch", "written"})
      if (!has_check(check)) missing.emplace_back(check);
  const bool elements = k.op == "softmax" || k.op == "log_softmax" || k.resolution;
  if (elements && k.max_ulp && (launched || k.too_coarse == 0) && !has_check("element"))
    missing.emplace_back("element");
  // Only outputs that add up to 1 have that check; a resolution of a row others have too. `--op` names
  // another output of the same kernel.
  const std::string op = behind(words_of(c.command), "--op");
  const bool adds_up = k.op == "softmax" && (op.empty() || op == k.op);
  if (adds_up && k.resolution_sum && !has_check("row_sum")) missing.emplace_back("row_sum");
  if (k.max_bound_ratio &&
      std::ranges::none_of(kBoundChecks, [&](const char* check) { return has_check(check); }))
    missing.emplace_back("of a bound");
  for (const std::string& check : missing)
    found.push_back(fmt::format("{}: it has no check {}, and must have", k.key, check));
  const std::string where = k.key.substr(std::min(k.key.size(), k.key.rfind('@') + 1));
  if ((where == "cuda" && k.on_host) || (where.starts_with("host") && !k.on_host))
    found.push_back(fmt::format("{}: its on_host is {}", k.key, k.on_host));
}

}  // namespace

Lines left_out_of_not_proved(const Certificate& c, const Lines& lines) {
  Lines found;
  for (const std::string& line : lines)
    if (!has(c.not_proved, line)) found.push_back("not_proved leaves out: " + line);
  return found;
}

Lines not_following(const Certificate& c) {
  Lines found;
  follow_extent(found, c);
  follow_required(found, c);
  follow_seeds(found, c);
  follow_environment(found, c);
  follow_steps(found, c);
  for (const CertifiedKernel& k : c.kernels) follow_kernel(found, c, k);
  Certificate again = c;
  again.not_proved = open_on_paper(c);
  conclude(again, c.exit_status == 0);
  for (std::string& line : left_out_of_not_proved(c, again.not_proved)) found.push_back(std::move(line));
  const bool says_quick = std::ranges::any_of(
      c.not_proved, [](const std::string& line) { return line.starts_with("the check was quick: "); });
  if (says_quick != (c.extent == "quick"))
    found.push_back(fmt::format("its extent is {}, and not_proved {} that the check was quick", c.extent,
                                says_quick ? "says" : "does not say"));
  return found;
}

}  // namespace assay
