// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/python_kernel.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>

#include "kernels/adapter/entry/names.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/launcher.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/process/sandboxed.hpp"
#include "kernels/python/embedded_worker.hpp"
#include "reference/environment_error.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The program that Python runs: it loads the library, and the worker from the files in it.
constexpr const char* kStart = R"(import ctypes, sys, types
library = ctypes.CDLL("/proc/self/fd/4")
library.assay_python_file.restype = ctypes.c_char_p
path, n = ctypes.c_char_p(), 0
while text := library.assay_python_file(n, ctypes.byref(path)):
    name = path.value.decode().split("/")[-1][:-3]
    sys.modules[name] = types.ModuleType(name)
    exec(compile(text, path.value.decode(), "exec"), vars(sys.modules[name]))
    n += 1
sys.modules["assay_worker"].main(library, sys.argv[1:])
)";
static_assert(isolation::kSocket == 3 && isolation::kLibrary == 4);
constexpr int kStartWords = 4;  // the words in front of the arguments

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

/// The library in an in-memory file, made once.
int worker_library() {
  static const int file = [] {
    const std::span<const char> bytes = embedded_worker();
    const int made = memfd_create("libassay_python_worker.so", MFD_CLOEXEC);
    // Move it away from the descriptors that a worker is given.
    const int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 10);
    if (made >= 0) close(made);
    std::size_t done = 0;
    while (fd >= 0 && done < bytes.size()) {
      const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
      if (n <= 0) throw std::system_error(errno, std::generic_category(), "the library of a Python worker");
      done += static_cast<std::size_t>(n);
    }
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "the library of a Python worker");
    return fd;
  }();
  return file;
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

/// The time when a file was last written. A module may change, too, but that is not checked.
std::string stamp_of(const PythonCallable& c, const std::string& place) {
  std::error_code error;
  return c.is_file ? std::to_string(fs::last_write_time(place, error).time_since_epoch().count()) : "";
}

/// The process that forks the workers of this command. Everybody who asks while it is in use gets the same
/// one.
std::shared_ptr<isolation::WarmProcess> warm_process(const isolation::Command& each, const std::string& place,
                                                     const std::string& stamp, isolation::Reach reach,
                                                     bool sandbox) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::weak_ptr<isolation::WarmProcess>> all;
  isolation::Command forks = each;
  forks.words.insert(forks.words.begin() + kStartWords, "forks");
  std::vector<std::string> key = forks.words;
  key.push_back(stamp);
  key.push_back(sandbox && isolation::why_not_sandboxed(reach).empty() ? "sandbox" : "");
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
  const std::string python = interpreter_of(c);
  const char* const where = c.host ? "host" : unavailable_reason(Backend::cuda).empty() ? "gpu" : "none";
  isolation::Subject subject{true, place, c.shown};
  subject.command = {{python, "-u", "-c", kStart, c.is_file ? "file" : "module", place, c.function, c.name,
                      name(c.op), types_of(c), where, names_without_types()},
                     worker_library()};
  subject.command.words.insert(subject.command.words.end(), c.arguments.begin(), c.arguments.end());
  subject.first_times = kFirstTimes;
  subject.most_workers = kMostOnDevice;
  subject.on_host = c.host;
  const isolation::Reach reach = c.host ? isolation::Reach::host : isolation::widest_reach();
  const auto warm = subject.warm =
      warm_process(subject.command, place, stamp_of(c, place), reach, options.sandbox);
  const auto supervisor = std::make_shared<isolation::Supervisor>(std::move(subject), options);
  std::vector<Variant> all = isolation::variants_of(supervisor, c.shown);
  std::string each;
  if (const std::string why = warm->declines(); !why.empty())
    each = "; a new interpreter for each worker: " + why;
  else if (const std::string because = warm->repeats(); !because.empty())
    each = "; each worker imports it: " + because;
  for (Variant& v : all) v.file = c.shown + " (" + supervisor->made_of() + "; " + python + each + ")";
  return all;
}

}  // namespace assay
