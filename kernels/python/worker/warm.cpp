// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/warm.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "kernels/isolation/shared/message.hpp"
#include "kernels/isolation/worker/warm_loop.hpp"
#include "kernels/python/worker/api.hpp"

namespace assay::python {
namespace {

constexpr std::size_t kMost = 30000;  // files; a process has at most 65530 mappings

struct Opened {
  std::mutex mutex;
  std::set<std::string> names, seen;  // as they were opened, and the files' own paths
  std::string own;                    // the folder of the interpreter's own modules
};
Opened& opened() {
  static Opened all;
  return all;
}

bool in_any(const std::string& path, std::initializer_list<const char*> folders) {
  return std::any_of(folders.begin(), folders.end(),
                     [&](const char* one) { return path.rfind(one, 0) == 0; });
}

/// The source that a cached module was made from, if it is there.
std::string source_of(const std::string& path) {
  constexpr const char* kCache = "/__pycache__/";
  const std::size_t at = path.rfind(kCache);
  if (at == path.npos) return path;
  const std::size_t name = at + std::strlen(kCache);
  if (path.size() < 4 || path.compare(path.size() - 4, 4, ".pyc") != 0) return path;
  const std::string source = path.substr(0, at + 1) + path.substr(name, path.find('.', name) - name) + ".py";
  return access(source.c_str(), R_OK) == 0 ? source : path;
}

/// True for a folder in which an installer keeps lists of the files of its packages.
bool has_lists(const std::string& folder) {
  static std::map<std::string, bool> known;
  const auto [at, fresh] = known.try_emplace(folder, false);
  if (!fresh) return at->second;
  if (DIR* const all = opendir(folder.c_str())) {
    while (const dirent* const one = readdir(all))
      at->second |= std::strstr(one->d_name, ".dist-info") != nullptr;
    closedir(all);
  }
  return at->second;
}

/// Of a package that is installed one file is enough: it stands for the package.
std::string key_of(const std::string& path) {
  for (const char* const folder : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t at = path.find(folder); at != path.npos) {
      const std::size_t end = at + std::strlen(folder);
      const bool system = path.rfind("/usr/", 0) == 0;
      return system || has_lists(path.substr(0, end)) ? path.substr(0, path.find('/', end)) : path;
    }
  return path;
}

/// The file's own path, whatever name it was opened by.
std::string real_path_of(int file) {
  char path[4096];
  const ssize_t n = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

/// Maps one page of it, for as long as the process lives.
void keep(const std::string& name) {
  Opened& all = opened();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.names.contains(name)) return;
  const int file = open(source_of(name).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return;
  if (all.names.size() < kMost) all.names.insert(name);
  const std::string path = real_path_of(file);
  struct stat s {};
  const std::string key = key_of(path);
  const bool own = key == path && !all.own.empty() && path.rfind(all.own, 0) == 0;
  // What lies in /proc and /sys has no size.
  if (!own && !in_any(path, {"/dev/", "/etc/"}) && fstat(file, &s) == 0 && S_ISREG(s.st_mode) &&
      s.st_size > 0 && all.seen.size() < kMost && all.seen.insert(key).second)
    (void)mmap(nullptr, 1, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
}

/// The event "open" has the path, the mode and the flags. A path may also be a number: that file is open
/// already.
int hear(const char* event, Object* arguments, void*) {
  if (std::strcmp(event, "open") != 0 || !arguments || py.PyTuple_Size(arguments) < 3) return 0;
  Object* const path = py.PyTuple_GetItem(arguments, 0);
  const Ref bytes(is_instance(path, py.PyUnicode_Type) ? py.PyUnicode_EncodeFSDefault(path) : nullptr);
  char* at = nullptr;
  std::ptrdiff_t length = 0;
  Object* const read = bytes ? bytes.get() : path;
  const bool known =
      read && is_instance(read, py.PyBytes_Type) && py.PyBytes_AsStringAndSize(read, &at, &length) == 0;
  const long long flags = py.PyLong_AsLongLong(py.PyTuple_GetItem(arguments, 2));
  py.PyErr_Clear();
  if (known && (flags < 0 || (flags & O_ACCMODE) != O_WRONLY))
    keep(std::string(at, static_cast<std::size_t>(length)));
  return 0;
}

}  // namespace

void watch_opened() {
  const Ref module(py.PyImport_ImportModule("os"));
  const std::string file = string_of(attribute(module.get(), "__file__").get());
  opened().own = file.substr(0, file.rfind('/') + 1);
  if (py.PySys_AddAuditHook(hear, nullptr) != 0) py.PyErr_Clear();
}

namespace {

using Files = std::map<std::string, std::string>;

/// Packages that take long to import. A process that has imported them may fork.
constexpr std::array kForkable = {"numpy", "torch", "triton"};

pid_t fork_python() {
  py.PyOS_BeforeFork();
  const pid_t pid = fork();
  const int error = errno;
  if (pid == 0)
    py.PyOS_AfterFork_Child();
  else
    py.PyOS_AfterFork_Parent();
  errno = error;
  return pid;
}

/// Why this process must not be forked, or empty. Imports the frameworks before, if they would come from
/// these files.
std::string why_not(const Files& frameworks) {
  const Ref given = need(py.PyDict_New()),
            all = need(py.PyTuple_New(static_cast<std::ptrdiff_t>(frameworks.size())));
  std::ptrdiff_t i = 0;
  for (const auto& [name, file] : frameworks) {
    const Ref pair = need(py.PyTuple_New(2));
    py.PyTuple_SetItem(pair.get(), 0, text_of(name).release());
    py.PyTuple_SetItem(pair.get(), 1, path_of(file).release());
    py.PyTuple_SetItem(all.get(), i++, Ref(pair).release());
  }
  py.PyDict_SetItemString(given.get(), "frameworks", all.get());
  try {
    return run_text("forks.py", given);
  } catch (const Failure& f) {
    return "it could not be seen whether it may be forked: " + f.text;
  }
}

/// Tabs and line ends divide what the process says that imports the target first.
std::string one_word(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, '?');
  return text;
}

std::string what_was_found(std::size_t signature) {
  std::string all = std::to_string(signature) + "\t" + one_word(why_not({}));
  for (const char* const name : kForkable) {
    Object* const module = py.PyDict_GetItemString(py.PyImport_GetModuleDict(), name);
    const std::string file = string_of(attribute(module, "__file__").get());
    if (!file.empty()) all += std::string("\t") + name + "\t" + one_word(file);
  }
  return all + "\n";
}

/// A line that begins with a size, and then so many bytes. What the import has started may keep the pipe
/// open, so nobody waits for its end. Empty if the other side ends before.
std::string message_of(int descriptor) {
  std::string said;
  char part[4096];
  for (;;) {
    const std::size_t end = said.find('\n');
    if (end != said.npos && said.size() - end - 1 >= std::strtoull(said.c_str(), nullptr, 10)) return said;
    const ssize_t n = read(descriptor, part, sizeof part);
    if (n <= 0) return {};
    said.append(part, static_cast<std::size_t>(n));
  }
}

/// Otherwise the garbage collector would touch, and so copy, the memory that all workers share.
void freeze() {
  const Ref gc(py.PyImport_ImportModule("gc"));
  if (const Ref function = attribute(gc.get(), "freeze")) call(function.get(), {});
  py.PyErr_Clear();
}

}  // namespace

void import_first(const Words& words, bool may_fork) {
  const Ref given = need(py.PyDict_New());
  py.PyDict_SetItemString(given.get(), "form", text_of(words.is_file ? "file" : "module").get());
  py.PyDict_SetItemString(given.get(), "place", text_of(words.place).get());
  const Ref source = need(
      py.PyBytes_FromStringAndSize(words.source.data(), static_cast<std::ptrdiff_t>(words.source.size())));
  py.PyDict_SetItemString(given.get(), "source", source.get());
  std::istringstream names(run_text("first.py", given));
  for (std::string name; may_fork && names >> name;) {
    const Ref module(py.PyImport_ImportModule(name.c_str()));
    py.PyErr_Clear();
  }
}

Looked look_at_import(const std::function<std::string()>& read) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe can be made", {}, {}};
  const pid_t pid = fork_python();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const std::string signature = read();
    // Do this before looking at the open files.
    const int answer = dup2(ends[1], isolation::kSocket);
    close(ends[1]);
    const std::string found = what_was_found(signature.size()) + signature;
    const ssize_t written = write(answer, found.data(), found.size());
    _exit(written == static_cast<ssize_t>(found.size()) ? 0 : 1);
  }
  close(ends[1]);
  const std::string said = pid > 0 ? message_of(ends[0]) : "";
  close(ends[0]);
  if (pid > 0) waitpid(pid, nullptr, 0);
  const std::size_t end = said.find('\n');
  if (end == said.npos) return {"the process that imports it ends", {}, {}};
  Looked looked;
  looked.signature = said.substr(end + 1);
  std::istringstream words(said.substr(0, end));
  std::string size, name, file;
  std::getline(words, size, '\t');
  std::getline(words, looked.why_not, '\t');
  while (std::getline(words, name, '\t') && std::getline(words, file, '\t'))
    if (std::ranges::find(kForkable, name) != kForkable.end()) looked.frameworks[name] = file;
  return looked;
}

std::string fork_workers(const std::function<std::string()>& read, const std::function<void()>& import) {
  std::string declines = why_not({});
  Looked looked;
  if (declines.empty()) {
    looked = look_at_import(read);
    if (looked.why_not.empty())
      import();
    else
      declines = why_not(looked.frameworks);
  }
  if (!isolation::say_warm(declines, looked.why_not)) _exit(0);
  freeze();
  isolation::Wanted wanted;
  while (isolation::next_wanted(wanted)) {
    const pid_t pid = fork_python();
    if (pid == 0) {
      isolation::become_worker(wanted);
      return looked.signature;
    }
    if (!isolation::say_forked(wanted, pid, pid < 0 ? errno : 0)) break;
  }
  _exit(0);
}

}  // namespace assay::python
