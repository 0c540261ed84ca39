// SPDX-License-Identifier: Apache-2.0
// Starts a worker process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace assay::isolation {

/// A shared object as it was when it was opened: hashed, and copied to where nobody can change it. All
/// workers load that, so what is judged is what the hash is of.
class OpenedFile {
 public:
  /// The same one for all that ask while it is in use. Throws InputError if it can not be read.
  static std::shared_ptr<const OpenedFile> of(const std::string& path);
  explicit OpenedFile(const std::string& path);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  /// Without symbolic links.
  const std::string& path() const { return path_; }
  const std::string& sha256() const { return sha256_; }
  bool has_copy() const { return copy_ >= 0; }
  /// A descriptor of the copy, at its beginning. The caller closes it. -1 if there is none.
  int open_copy() const;
  /// True if the path names another file now, or this one was written.
  bool changed() const;

 private:
  std::string path_, sha256_, identity_;
  int copy_ = -1;
};

/// Starts a worker process and can tell how it ended.
class Parent {
 public:
  virtual ~Parent() = default;
  /// Starts a worker in a process group of its own. `socket` becomes its descriptor 3, `output` its standard
  /// output and error. Returns 0 or an errno.
  virtual int start(int socket, int output, pid_t& pid) = 0;
  /// True if the worker has ended. Its process id stays in use until `reap`.
  virtual bool exited(pid_t pid) = 0;
  /// True if the worker has ended. Then `status` is as from waitpid, and the process id is free again.
  virtual bool reap(pid_t pid, int& status) = 0;
  /// Why this parent has ended the worker itself. Empty if it has not. Call it before `reap`.
  virtual std::string ended_it(pid_t) { return {}; }
  /// True if its workers have a process namespace of their own, in which no other kernel can send them
  /// signals.
  virtual bool alone() const { return false; }
  /// True if the worker ended because what had started it was ended. Call it before `reap`.
  virtual bool ended_with_it(pid_t) { return false; }
  /// The buffers of this worker's launches may take this many MiB.
  virtual void expects_shared(pid_t, std::int64_t /*mib*/) {}
  /// True if its workers load the copy of an opened file, whatever its path names.
  virtual bool loads_copy() const { return false; }
  /// Its name in messages.
  virtual std::string name() const = 0;
};

/// True if this executable has the verb `worker`: its main has called is_worker_call.
extern bool has_worker_verb;

/// How to start a worker: `assay worker 3`, or an interpreter that loads the worker's loop as a library.
struct Command {
  std::vector<std::string> words;  // the path of the executable, then its arguments
  int library = -1;                // a descriptor that it gets as kLibrary, or -1
  int warden = -1;                 // a descriptor that it gets as kWarden, or -1
  int executable = -1;             // a descriptor that it gets as kWardenExecutable, or -1
  int copy = -1;                   // a descriptor that bwrap gets as kCopy, or -1
  /// The shared object that the worker loads.
  std::shared_ptr<const OpenedFile> opened = {};
  /// Added to its environment: names and values.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// The executable to run as a sandbox's warden: this one, or the `assay` built beside it. `worker` if there
/// is none.
std::string warden_executable(const std::string& worker);

/// Runs the command with an empty standard input and no blocked or ignored signals, in a process group of its
/// own. Returns 0 or an errno.
int spawn(const Command& command, int socket, int output, pid_t& pid);

/// Runs the command for every worker.
///
/// A worker asks the operating system to end it together with its parent, and there "parent" means the thread
/// that started it. So one thread, which lives as long as the process, starts all workers.
class Spawner : public Parent {
 public:
  explicit Spawner(Command command) : command_(std::move(command)) {}
  int start(int socket, int output, pid_t& pid) override;
  bool exited(pid_t pid) override;
  bool reap(pid_t pid, int& status) override;
  std::string name() const override { return command_.words[0]; }

 private:
  const Command command_;
};

}  // namespace assay::isolation
