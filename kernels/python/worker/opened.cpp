// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/opened.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

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

}  // namespace assay::python
