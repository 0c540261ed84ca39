// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "kernels/adapter/embedded.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/cheats/cheats.hpp"

namespace assay::cheats {
namespace {

namespace fs = std::filesystem;

/// Thrown when an answer is another one than the table expects; and when a machine lacks what a cheat needs.
struct Unexpected {
  std::string why;
};
struct Lacks {
  std::string what;
};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string embedded(const std::string& file) {
  for (const EmbeddedText& t : cheat_texts())
    if (t.path.ends_with("/" + file)) return std::string(t.text);
  throw InputError("this program holds no cheat's file " + file);
}

std::vector<std::string> words_of(const std::string& text) { return split_words(text); }

/// "FROM | TO" around the bars.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (std::size_t bar; (bar = text.find(" | ", at)) != text.npos; at = bar + 3)
    parts.push_back(text.substr(at, bar - at));
  parts.push_back(text.substr(at));
  return parts;
}

/// Runs the arguments, and asks them to end when the file that $0 names has two lines: the head of a journal
/// and something that is finished.
constexpr const char* kStopped = R"sh("$@" & run=$!
while kill -0 $run 2>&- && [ "$( (wc -l < "$0") 2>&- || echo 0)" -lt 2 ]; do sleep 0.02; done
kill $run 2>&-; wait $run)sh";

class Run {
 public:
  Run(const Cheat& cheat, Guard guard, const Options& options)
      : cheat_(cheat),
        guard_(guard),
        folder_(fs::absolute(options.folder)),
        program_(options.program.empty() ? fs::read_symlink("/proc/self/exe").string() : options.program) {
    fs::create_directories(folder_);
  }

  Verdict verdict() {
    const auto begin = std::chrono::steady_clock::now();
    Verdict v;
    try {
      for (const Step& s : cheat_.steps) take(s);
      v.outcome = Status::pass;
    } catch (const Lacks& lacks) {
      v.why = lacks.what;
    } catch (const Unexpected& other) {
      v.outcome = Status::fail;
      v.why = other.why;
    }
    v.command = command_;
    v.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return v;
  }

 private:
  void take(const Step& s) {
    line_ = s.line;
    const std::string rest = filled(s.rest);
    if (s.verb == "needs") return needs(rest);
    if (s.verb == "plugin") return plugin(words_of(rest));
    if (s.verb == "file") return write(rest, embedded(rest));
    if (s.verb == "pipe") return pipe(rest);
    if (s.verb == "env") return environment_.push_back(rest);
    if (s.verb == "within") return void(seconds_ = rest);
    if (s.verb == "stop") return void(stop_at_ = folder_ / rest);
    if (s.verb == "run") return call(words_of(rest));
    if (s.verb == "status") return status(rest);
    if (s.verb == "says") return must(said_.find(rest) != said_.npos, "says no \"" + rest + "\"");
    if (s.verb == "lacks") return must(said_.find(rest) == said_.npos, "says \"" + rest + "\"");
    if (s.verb == "absent") return must(!fs::exists(folder_ / rest), rest + " is there");
    const std::vector<std::string> parts = parts_of(rest);
    if (s.verb == "write") return write(parts.at(0), parts.at(1) + "\n");
    if (s.verb == "edit") return edit(parts.at(0), parts.at(1), parts.at(2));
    const bool there = anywhere(folder_ / parts.at(0), parts.at(1));
    if (s.verb == "holds") must(there, parts[0] + " does not hold \"" + parts[1] + "\"");
    if (s.verb == "holds_not") must(!there, parts[0] + " holds \"" + parts[1] + "\"");
  }

  /// "{here}" is the folder, "{esc}" the character that begins an escape sequence.
  std::string filled(std::string text) const {
    for (const auto& [name, value] :
         {std::pair<std::string, std::string>{"{here}", folder_.string()}, {"{esc}", "\033"}})
      for (std::size_t at; (at = text.find(name)) != text.npos;) text.replace(at, name.size(), value);
    return text;
  }

  void must(bool holds, const std::string& otherwise) const {
    if (holds) return;
    std::string last = said_;
    while (!last.empty() && last.back() == '\n') last.pop_back();
    last = last.substr(last.size() > 300 ? last.size() - 300 : 0);
    throw Unexpected{"line " + std::to_string(line_) + ": " + otherwise + "; status " +
                     std::to_string(status_) + ", its last words: " + last};
  }

  void needs(const std::string& what) const {
    if (what == "gpu") {
      if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) throw Lacks{why};
    } else if (what == "nvcc") {
      try {
        find_nvcc();
      } catch (const EnvironmentError& e) {
        throw Lacks{e.what()};
      }
    } else if (what == "numpy") {
      if (run_program({"python3", "-c", "import numpy"}, (folder_ / "python.log").string()) != 0)
        throw Lacks{"no python3 with numpy"};
    } else if (what == "bubblewrap") {
      if (guard_ != Guard::bubblewrap) throw Lacks{"it needs a process namespace, and so bubblewrap"};
    } else {
      throw InputError("cheats.txt:" + std::to_string(line_) + ": nobody knows what " + what + " is");
    }
  }

  void write(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    if (!(out << text) || !out.flush()) throw InputError(file.string() + ": can not be written");
  }

  void edit(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = text_of(folder_ / name);
    const std::size_t at = text.find(from);
    must(at != text.npos, name + " does not hold \"" + from + "\"");
    write(name, text.replace(at, from.size(), to));
  }

  void pipe(const std::string& name) const {
    if (mkfifo((folder_ / name).c_str(), 0600) != 0)
      throw InputError((folder_ / name).string() + ": " + std::strerror(errno));
  }

  /// FILE.cpp [as NAME] [flags]: compiles the file to NAME.so, FILE.so where no name is given.
  void plugin(std::vector<std::string> words) const {
    const std::string file = words.at(0);
    std::string made = fs::path(file).stem().string() + ".so";
    words.erase(words.begin());
    if (words.size() > 1 && words[0] == "as") {
      made = words[1] + ".so";
      words.erase(words.begin(), words.begin() + 2);
    }
    for (const char* const needed : {"cheat.h"})
      write(std::string("reports/cheats/kernels/") + needed, embedded(needed));
    for (const EmbeddedText& t : embedded_texts())
      if (t.path == "kernels/plugin.h") write(std::string(t.path), std::string(t.text));
    write(file, embedded(file));
    std::vector<std::string> all;
    try {
      all = find_host_compiler();
    } catch (const EnvironmentError& e) {
      throw Lacks{e.what()};
    }
    all.insert(all.end(), {"-std=c++20", "-O2", "-w", "-ffp-contract=off", "-shared", "-fPIC",
                           "-fvisibility=hidden", "-I" + folder_.string()});
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), {(folder_ / file).string(), "-o", (folder_ / made).string()});
    const fs::path log = folder_ / "compiler.log";
    if (run_program(all, log.string()) != 0)
      throw InputError(file + " does not compile: " + text_of(log).substr(0, 300));
  }

  void call(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {"timeout", "-k", "30", seconds_, "env", "-C", folder_.string()};
    words.insert(words.end(), environment_.begin(), environment_.end());
    if (guard_ == Guard::landlock) words.insert(words.end(), {"PATH=" + path_without_bwrap(), compiler()});
    words.push_back(program_);
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (!stop_at_.empty()) {
      words.insert(words.begin(), {"sh", "-c", kStopped, stop_at_.string()});
      stop_at_.clear();
    }
    command_ = "assay";
    for (const std::string& a : arguments) command_ += " " + a;
    const fs::path log = folder_ / "said.log";
    status_ = run_program(words, log.string());
    said_ = text_of(log);
  }

  /// By a link's name it would be another compiler, for which the host executor is compiled anew.
  static std::string compiler() {
    std::string words;
    try {
      for (const std::string& one : find_host_compiler()) words += (words.empty() ? "" : " ") + one;
    } catch (const EnvironmentError&) {  // a cheat that needs one does not run
    }
    return "CXX=" + words;
  }

  /// A folder with links to all programs that PATH finds, but for bwrap.
  std::string path_without_bwrap() const {
    const fs::path folder = folder_ / "programs";
    if (fs::exists(folder)) return folder.string();
    fs::create_directories(folder);
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    std::error_code ignored;
    for (std::string one; std::getline(folders, one, ':');)
      for (const auto& program : fs::directory_iterator(one, ignored))
        if (const fs::path file = program.path().filename(); file != "bwrap")
          fs::create_symlink(program.path(), folder / file, ignored);
    return folder.string();
  }

  void status(const std::string& wanted) const {
    std::istringstream in(wanted);
    bool fits = false;
    for (int one; in >> one;) fits |= one == status_;
    must(fits, "ends with " + std::to_string(status_) + " and not with " + wanted);
  }

  /// True if the file, or one in the folder of that name, has the words in it.
  static bool anywhere(const fs::path& place, const std::string& words) {
    if (!fs::is_directory(place)) return text_of(place).find(words) != std::string::npos;
    for (const auto& one : fs::recursive_directory_iterator(place))
      if (one.is_regular_file() && text_of(one.path()).find(words) != std::string::npos) return true;
    return false;
  }

  const Cheat& cheat_;
  const Guard guard_;
  const fs::path folder_;
  const std::string program_;
  std::vector<std::string> environment_;
  fs::path stop_at_;
  std::string seconds_ = "300", said_, command_;
  int line_ = 0, status_ = -1;
};

}  // namespace

Verdict run(const Cheat& cheat, Guard guard, const Options& options) {
  return Run(cheat, guard, options).verdict();
}

}  // namespace assay::cheats
