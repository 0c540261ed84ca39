// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/commands.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "accuracy/status.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/isolation/shared/plain_text.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/build_info.hpp"
#include "reports/cli/progress.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"
#include "reports/out/journal.hpp"

namespace assay {

namespace {

const Command kAssay = {
    "",
    nullptr,
    {"0  passed", "1  a verdict failed, or could not be decided", kBadCallText,
     "3  the machine lacks what was asked for, or no output was judged",
     "4  of check, adopt, verify, merge: right within limits that nobody declared, or judged only in part"},
    {"assay list", "assay check safe_block/f32@host --quick"}};

/// Puts statuses and examples in front of what the command's help ends with.
void add_usage(CLI::App& app, const Command& c) {
  std::string text = "\nExit status:\n";
  for (const char* line : c.statuses) text += std::string("  ") + line + "\n";
  text += "\nExamples:";
  for (const char* line : c.examples) text += std::string("\n  ") + line;
  const std::string more = app.get_footer();
  app.footer(text + (more.empty() ? "" : "\n\n" + more));
}

}  // namespace

std::vector<const Command*> all_commands() {
#define ASSAY_COMMAND_ADDRESS(name) &name##_command,
  return {&kAssay, ASSAY_COMMANDS(ASSAY_COMMAND_ADDRESS)};
#undef ASSAY_COMMAND_ADDRESS
}

const Command* command_of(const std::string& path) {
  for (const Command* c : all_commands())
    if (path == c->path) return c;
  return nullptr;
}

void add_commands(CLI::App& app, int& status) {
  app.name("assay");
  app.description(
      "assay decides whether a softmax kernel may be adopted: every verdict is backed by an MPFR enclosure.");
  app.set_version_flag("--version",
                       std::string("assay ") + build_info::version + " (" + build_info::commit + ")");
  app.require_subcommand(1);
  for (const Command* c : all_commands()) {
    CLI::App* at = &app;
    std::istringstream words(c->path);
    for (std::string word; words >> word;) {
      if (c->path == (at == &app ? word : at->get_name() + " " + word)) c->add(*at, status);
      at = at->get_subcommand(word);
    }
    add_usage(*at, *c);
  }
}

namespace {

int status_of_call(CLI::App& app, int argc, const char* const* argv, const int& status) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    flush_output();
    return kPassed;
  } catch (const CLI::CallForVersion& v) {
    std::fprintf(stdout, "%s\n", v.what());
    flush_output();
    return kPassed;
  }
  flush_output();
  return status;
}

/// One line about an option that the command does not have; empty if every left-over word is something else.
std::string unknown_option(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string name = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  std::vector<std::string> known;
  for (const CLI::Option* o : command->get_options())
    for (const std::string& word : o->get_lnames()) known.push_back("--" + word);
  for (const std::string& word : command->remaining())
    if (word.starts_with("--"))
      return word + ": no such option of " + name + did_you_mean(word.substr(0, word.find('=')), known);
  return {};
}

/// The text with each very long word of the command cut short: a message is a line to be read.
std::string shortened(std::string text, int argc, const char* const* argv) {
  constexpr std::size_t kMost = 300, kShown = 100;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.size() <= kMost) continue;
    const std::string shown = word.substr(0, kShown) + "... (" + std::to_string(word.size()) + " characters)";
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + shown.size()))
      text.replace(at, word.size(), shown);
  }
  return isolation::plain_text(text);
}

/// An empty value is mostly a variable of a script that is not set: it must not mean "as if not given".
void refuse_empty_values(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_empty_values(*command);
  for (CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    // Flags for a compiler and arguments of a launcher may well be none.
    if (option->get_expected_max() == 0 || name == "--nvcc-flags" || name == "--arg") continue;
    option->check(CLI::Validator(
        [name](std::string& word) {
          if (word.empty()) throw InputError(name + " '': must not be empty");
          return std::string();
        },
        ""));
  }
}

/// "ro/records.jsonl: Permission denied"
std::string words_of(const std::filesystem::filesystem_error& e) {
  return (e.path1().empty() ? "" : e.path1().string() + ": ") + e.code().message();
}

}  // namespace

int run_assay(int argc, const char* const* argv) {
  CLI::App app;
  int status = kPassed;
  add_commands(app, status);
  refuse_empty_values(app);
  // A file that may grow no further is an error of its write, and no reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  announce_compilation([line = CompilationLine(), shown = redraws_lines()](const std::string& what) mutable {
    note_compilation(!what.empty());
    if (shown) line(what);
  });
  if (argc > 1) set_command_line({argv + 1, argv + argc});
  try {
    std::vector<std::string> known;
    for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(c->get_name());
    if (argc > 1 && argv[1][0] != '-' && std::find(known.begin(), known.end(), argv[1]) == known.end())
      throw InputError(std::string(argv[1]) + ": no such command (assay --help)" +
                       did_you_mean(argv[1], known));
    return status_of_call(app, argc, argv, status);
  } catch (const CLI::ParseError& e) {
    // A mistyped option may be the required one.
    const std::string option = unknown_option(app);
    std::fprintf(stderr, "assay: %s (assay --help)\n",
                 shortened(option.empty() ? e.what() : option, argc, argv).c_str());
    return kBadCall;
  } catch (const Contradiction& e) {
    std::fprintf(stderr, "assay: %s\n", shortened(e.what(), argc, argv).c_str());
    return kFailed;
  } catch (const EnvironmentError& e) {
    std::fprintf(stderr, "assay: %s\n", shortened(e.what(), argc, argv).c_str());
    return kEnvironment;
  } catch (const InputError& e) {
    std::fprintf(stderr, "assay: %s\n", shortened(e.what(), argc, argv).c_str());
    return kBadCall;
  } catch (const nlohmann::json::exception& e) {
    std::fprintf(stderr, "assay: a file holds what cannot be read: %s\n", plain_words(e).c_str());
    return kBadCall;
  } catch (const std::filesystem::filesystem_error& e) {
    std::fprintf(stderr, "assay: %s\n", shortened(words_of(e), argc, argv).c_str());
    return e.code() == std::errc::permission_denied ? kBadCall : kEnvironment;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay: this machine cannot do that: it has not enough memory\n");
    return kEnvironment;
  } catch (const std::exception& e) {
    // The machine could not provide threads.
    std::fprintf(stderr, "assay: this machine cannot do that: %s\n", e.what());
    return kEnvironment;
  }
}

}  // namespace assay
