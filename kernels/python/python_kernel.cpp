// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/python_kernel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>

#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/launcher.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/process/sandboxed.hpp"
#include "kernels/python/worker/words.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/operand_table.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The program that Python runs. The library never returns from this call, and has no other function.
/// `forks`: it forks workers.
std::string start(bool forks) {
  return std::string("import ctypes; ctypes.PyDLL('/proc/self/fd/4').python_main(") + (forks ? "1" : "0") +
         ")";
}
static_assert(isolation::kLibrary == 4);

/// Loading, and the first launch of every shape, may compile. With the usual timeout they get five minutes.
constexpr double kFirstTimes = 15;

/// On a GPU each worker makes a context and loads its kernels, and all workers share the GPU.
constexpr int kMostOnDevice = 3;

bool runnable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string interpreter_of(const PythonCallable& c) {
  const std::string wanted = c.interpreter.empty() ? "python3" : c.interpreter;
  if (wanted.find('/') != wanted.npos) {
    if (!runnable(wanted)) throw EnvironmentError("--python " + wanted + ": is no executable file");
    return fs::absolute(wanted).string();
  }
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (runnable(fs::path(folder) / wanted)) return (fs::path(folder) / wanted).string();
  throw EnvironmentError(
      wanted +
      ": is not on PATH: install it (Debian: apt-get install python3 python3-numpy), or name "
      "an interpreter with --python");
}

int memory_file(std::span<const char> bytes, const std::string& words) {
  const int made = memfd_create("library.so", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Move it away from the descriptors that a worker is given.
  const int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 10);
  if (made >= 0) close(made);
  for (std::span<const char> part : {bytes, std::span<const char>(words)})
    while (fd >= 0 && !part.empty()) {
      const ssize_t n = write(fd, part.data(), part.size());
      if (n <= 0) throw std::system_error(errno, std::generic_category(), "the library of a Python worker");
      part = part.subspan(static_cast<std::size_t>(n));
    }
  // All workers read this file: none may write to it.
  if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    throw std::system_error(errno, std::generic_category(), "the library of a Python worker");
  return fd;
}

/// The library with these words behind it, in an in-memory file. Each is made once, and kept.
int worker_library(const python::Words& words) {
  static std::mutex mutex;
  static std::map<std::string, int> all;
  std::string text = written(words);
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto known = all.find(text); known != all.end()) return known->second;
  const int file = memory_file(embedded_worker(), text);
  all.emplace(std::move(text), file);
  return file;
}

/// The bytes of the file, read once: all workers execute these.
std::string source_of(const std::string& path) {
  require_file(path);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw InputError(path + ": can not be read");
  return text.str();
}

struct Executed {
  std::mutex mutex;
  std::map<std::string, std::string> sha256;  // of paths
};
Executed& executed() {
  static Executed one;
  return one;
}

std::string types_of(const PythonCallable& c) {
  std::string all;
  for (const auto& [in, out] : c.types) {
    if (!all.empty()) all += ' ';
    all += name(in);
    if (out != in) all += std::string(":") + name(out);
  }
  return all;
}

/// The process that forks the workers of this command. Everybody who asks while it is in use gets the same
/// one.
std::shared_ptr<isolation::WarmProcess> warm_process(const isolation::Command& each, const std::string& place,
                                                     isolation::Reach reach, bool sandbox) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<isolation::WarmProcess>> all;
  isolation::Command forks = each;
  forks.words.back() = start(true);
  std::vector<std::string> key = forks.words;
  key.push_back(std::to_string(forks.library));  // of a callable: its words and the bytes of its file
  key.push_back(std::to_string(static_cast<int>(sandbox ? isolation::guard_of(reach) : Guard::none)));
  const std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(all, [](const auto& one) { return one.second.expired(); });
  std::shared_ptr<isolation::WarmProcess> warm = all[key].lock();
  if (!warm)
    all[key] = warm =
        std::make_shared<isolation::WarmProcess>(isolation::worker_parent(forks, reach, sandbox, place));
  return warm;
}

}  // namespace

std::vector<Variant> load_python(const PythonCallable& c, const IsolationOptions& options) {
  std::string place = c.place;
  if (c.is_file) {
    std::error_code error;
    if (!fs::exists(place, error)) throw InputError(place + ": no such file");
    if (!fs::is_regular_file(place, error)) throw InputError(place + ": not a file");
    place = fs::absolute(place).lexically_normal().string();
    isolation::sandbox_shows(place);
  }
  const std::string interpreter = interpreter_of(c);
  const char* const where = c.host ? "host" : unavailable_reason(Backend::cuda).empty() ? "gpu" : "none";
  isolation::Subject subject{true, place, c.shown};
  python::Words words{c.is_file, place, "", c.function, c.name, name(c.op), types_of(c), where, c.arguments};
  if (c.is_file) {
    words.source = source_of(place);
    const std::lock_guard<std::mutex> lock(executed().mutex);
    executed().sha256[place] = sha256_of(words.source);
  }
  subject.command = {{interpreter, "-u", "-c", start(false)}, worker_library(words)};
  subject.first_times = kFirstTimes;
  subject.most_workers = kMostOnDevice;
  subject.on_host = c.host;
  const isolation::Reach reach = c.host ? isolation::Reach::host : isolation::widest_reach();
  // Landlock's rules name the folder of one process in /proc, where CUDA writes when it starts. A fork has
  // another one.
  const bool forks =
      reach == isolation::Reach::host || !options.sandbox || isolation::guard_of(reach) != Guard::landlock;
  const auto warm = subject.warm =
      forks ? warm_process(subject.command, place, reach, options.sandbox) : nullptr;
  const auto supervisor = std::make_shared<isolation::Supervisor>(std::move(subject), options);
  std::vector<Variant> all = isolation::variants_of(supervisor, c.shown);
  std::string each;
  if (!warm)
    each = "; a new interpreter for each worker: under Landlock CUDA starts in no process that was forked";
  else if (const std::string why = warm->declines(); !why.empty())
    each = "; a new interpreter for each worker: " + why;
  else if (const std::string because = warm->repeats(); !because.empty())
    each = "; each worker imports it: " + because;
  for (Variant& v : all) v.file = c.shown + " (" + supervisor->made_of() + "; " + interpreter + each + ")";
  return all;
}

std::string executed_sha256(const std::string& path) {
  const std::lock_guard<std::mutex> lock(executed().mutex);
  const auto at = executed().sha256.find(fs::absolute(path).lexically_normal().string());
  return at == executed().sha256.end() ? std::string() : at->second;
}

// --arg for a Python callable: what a parameter is, or the value that it gets.

namespace {

struct PythonRole {
  std::string_view name;
  std::string types;  // of its elements, with a blank between two; empty: it has only one type
};

/// Kernel::given (worker/kernel.cpp) gives the parameter of each role its value.
std::vector<PythonRole> python_roles() {
  std::vector<PythonRole> all;
  for (const bool factors : {false, true})
    for (const OperandInfo& o : kOperandTable)
      if (((o.part & operand::any_scale) != 0) == factors)
        all.push_back(
            {o.name, (o.holds == OperandHolds::mask ? "bool " : "") + std::string(types_of(o.holds))});
  for (const char* other : {"in", "out", "indices", "k", "threshold", "rows", "V", "stream"})
    all.push_back({other, ""});
  return all;
}

[[noreturn]] void refuse(const std::string& argument, const std::string& why) {
  throw InputError("--arg " + in_quotes(argument) + ": " + why);
}

bool is_identifier(std::string_view s) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !s.empty() && letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_value(std::string_view s) {
  if (s == "None" || s == "True" || s == "False") return true;
  double number = 0;
  const auto read = std::from_chars(s.data(), s.data() + s.size(), number);
  return read.ec == std::errc() && read.ptr == s.data() + s.size();
}

void check_role(const std::string& argument, std::string_view role, std::string_view type, bool typed) {
  const std::vector<PythonRole> all = python_roles();
  const auto known = std::ranges::find(all, role, &PythonRole::name);
  if (known == all.end()) {
    std::string names;
    for (const PythonRole& r : all) names += (names.empty() ? "" : ", ") + std::string(r.name);
    refuse(argument, "neither a role (" + names + ") nor a value (a number, None, True, False)");
  }
  if (!typed) return;
  if (known->types.empty()) refuse(argument, std::string(role) + " has no types to choose from");
  std::string types;
  for (const char c : known->types) types += c == ' ' ? ", " : std::string(1, c);
  if (!is_word_of(known->types, type))
    refuse(argument, "of " + std::string(role) + " the types are " + types);
}

/// Checks one argument and returns its name.
std::string check(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == argument.npos || equals == 0 || equals + 1 == argument.size())
    refuse(argument, "NAME=ROLE or NAME=VALUE is needed, as in --arg mask=mask_keep or --arg dim=-1");
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  if (!is_identifier(name)) refuse(argument, in_quotes(name) + " is no name of a parameter");
  if (is_value(value)) return name;
  const std::size_t colon = std::min(value.find(':'), value.size());
  check_role(argument, std::string_view(value).substr(0, colon),
             std::string_view(value).substr(std::min(colon + 1, value.size())), colon < value.size());
  return name;
}

}  // namespace

void check_python_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const std::string& a : arguments) {
    names.push_back(check(a));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw InputError("--arg " + in_quotes(names.back()) + " is given twice");
  }
}

}  // namespace assay
