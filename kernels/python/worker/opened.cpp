// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/opened.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>

#include "kernels/python/worker/api.hpp"

namespace assay::python {
namespace {

constexpr std::size_t kMost = 20000;  // files

struct Opened {
  std::mutex mutex;
  std::set<std::string> seen;
  std::vector<std::string> order;
};
Opened& opened() {
  static Opened all;
  return all;
}

void keep(std::string path) {
  if (path.empty() || path.find('\n') != path.npos) return;
  if (path[0] != '/') {
    char here[4096];
    if (!getcwd(here, sizeof here)) return;
    path = std::string(here) + "/" + path;
  }
  Opened& all = opened();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.order.size() < kMost && all.seen.insert(path).second) all.order.push_back(std::move(path));
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
  if (py.PySys_AddAuditHook(hear, nullptr) != 0) py.PyErr_Clear();
}

std::vector<std::string> opened_files() {
  const std::lock_guard<std::mutex> lock(opened().mutex);
  return opened().order;
}

}  // namespace assay::python
