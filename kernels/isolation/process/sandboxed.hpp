// SPDX-License-Identifier: Apache-2.0
// Starts workers in a sandbox, each in one of its own.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/isolation/process/spawn.hpp"

namespace assay::isolation {

// Folders that a kernel finds empty: what a run writes into them (a journal, records, a certificate) tells it
// whether it is judged, and how far the run is.

/// Workers that start from now on find this folder empty, but for what they load (sandbox_shows). A folder
/// that `assay` runs in, or that they load from, is not hidden.
void sandbox_hides(const std::string& folder);

/// The folders that are to be hidden and are there, without symbolic links.
std::vector<std::string> hidden_folders();

/// The words of `bwrap` that hide them. They come behind all that makes its file system.
std::vector<std::string> hiding_words();

/// The words of a confinement that keep their files from being read. They come behind its first three.
std::vector<std::string> unreadable_words();

class SandboxSpawner : public Parent {
 public:
  /// `warden`: the executable whose verb `worker warden` is run. If `command` is its own worker, the worker
  /// is not executed again.
  SandboxSpawner(const Sandbox& sandbox, std::string warden, Command command);
  ~SandboxSpawner() override;

  int start(int socket, int output, pid_t& pid) override;
  bool exited(pid_t pid) override;
  /// When it returns true, nothing that the worker has started is left.
  bool reap(pid_t pid, int& status) override;
  std::string name() const override { return command_.words[0]; }
  std::string ended_it(pid_t pid) override;
  bool alone() const override { return alone_; }
  bool ended_with_it(pid_t pid) override;
  void expects_shared(pid_t pid, std::int64_t mib) override;
  bool loads_copy() const override { return copy_; }

 private:
  struct Running {
    int warden = -1;
    pid_t first = -1;  // bwrap, or the warden itself
    bool ended = false;
    int status = 0;
    std::string why;    // why the warden ended it
    bool gone = false;  // the warden ended before it could say how the worker had
  };
  static void listen(Running& one);
  static bool finished(Running& one);

  const std::string warden_;
  const bool alone_, copy_;
  const bool bubblewrap_;
  /// Where the words that hide folders come: behind those that make the file system of bwrap, or in those of
  /// a confinement. -1 without either.
  const std::ptrdiff_t hides_at_;
  int program_ = -1;  // a copy of the warden's executable under a name that tells nothing, or -1
  const Command command_;
  Command whole_;  // what is really run
  std::mutex mutex_;
  std::map<pid_t, Running> all_;  // by the worker's process id
};

/// A parent of the command's workers: in a sandbox where one is wanted and works. `kernel`: whose workers
/// they are. Those of different kernels share nothing that they can write.
std::shared_ptr<Parent> worker_parent(const Command& command, Reach reach, bool sandbox,
                                      const std::string& kernel);

}  // namespace assay::isolation
