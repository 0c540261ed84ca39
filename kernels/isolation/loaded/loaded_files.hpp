// SPDX-License-Identifier: Apache-2.0
// Which files the workers of a kernel have mapped since they began to load it. The operating system says so,
// not the worker: /proc/PID/maps. What Python code opens to read is mapped for this purpose
// (kernels/python/worker/warm.hpp).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/candidate.hpp"

namespace assay::isolation {

// Which functions of the system a shared object imports that a launcher of a softmax has no need of.

/// In alphabetical order: functions that tell the time, the environment, the process or chance, that open
/// files, libraries or connections, that start processes or send signals. By the dynamic symbols of an ELF
/// file of 64 bits; empty for any other file. What a file finds by dlsym, and instructions such as syscall
/// and rdtsc, are not seen.
std::vector<std::string> unusual_imports(const std::filesystem::path& file);

class LoadedFiles {
 public:
  /// The one of this kernel. It lives as long as the process.
  static LoadedFiles& of(const std::string& kernel);
  /// What its workers have mapped until now. Looks at those that are alive.
  std::vector<LoadedFile> all();

  /// Of all kernels of this process, without looking again: path and SHA-256 of what is no part of the
  /// system.
  static std::map<std::string, std::string> of_all();
  /// How many files have been found until now.
  static std::int64_t found();

  /// A worker that has not loaded the kernel. `imported`: it may have, because it was forked.
  void begin(pid_t worker, bool imported);
  /// Looks at what it has mapped. Files that are new are hashed.
  void look(pid_t worker);
  /// The worker is about to be ended.
  void end(pid_t worker);

 private:
  explicit LoadedFiles(std::string kernel) : kernel_(std::move(kernel)) {}
  void look_locked(pid_t worker);
  void add(pid_t worker, const std::string& range, const std::string& path, bool executable);

  const std::string kernel_;
  std::mutex mutex_;
  std::set<std::string> known_;  // paths
  std::set<pid_t> workers_;
  std::map<std::string, LoadedFile> files_;
  std::set<std::string> runtime_, packages_;
};

/// For the tests.
bool is_system_path(std::string_view path);
/// "numpy" and its folder, or an empty name if the path is in no folder of packages.
struct PackagePath {
  std::string name, folder;
};
PackagePath package_of(const std::string& path);

}  // namespace assay::isolation
