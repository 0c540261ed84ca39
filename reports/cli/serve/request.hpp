// SPDX-License-Identifier: Apache-2.0
// A request to `assay serve`, and the process that does it. Request and answer are each a line with a JSON
// object.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

inline constexpr std::size_t kMostOfALine = std::size_t{1} << 20;

struct Request {
  nlohmann::json id;               // what the client calls it
  std::vector<std::string> words;  // {"check", "my.cu", "--host"}
  std::string folder;              // absolute: relative paths of the words begin there; empty: the server's
  bool stop = false;               // ends the server; there are no words
  std::string wrong;               // empty, or one sentence about what is wrong with it
};

/// Never throws: what is wrong is said in `wrong`.
Request read_request(const std::string& line);

/// What a command has left.
struct Executed {
  int status = 0;                     // its exit status, or 128 + the signal that ended it
  std::string said, errors, verdict;  // standard output, standard error, and what --json would print
};

/// A process that does one command of `assay` and ends with it. It is started before the command is known,
/// and meanwhile gets ready what no command changes: the GPU's context, and which sandbox works. So whatever
/// a command sets (seed, device, folder, options, what is known of a kernel) ends with its process, and a
/// command that dies takes nobody with it.
class Executor {
 public:
  /// Starts the process. It has the signal mask `mask`, and closes `others`, descriptors of this process.
  /// Throws EnvironmentError. No other thread may run in this process.
  Executor(const sigset_t& mask, const std::vector<int>& others);
  /// Ends it if it still runs.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Lets it do the command, in this folder unless that is empty. At most once.
  void begin(const std::vector<std::string>& words, const std::string& folder);
  /// True if it has ended. Does not wait.
  bool ended();
  void send(int signal) const;
  /// Once it has ended.
  Executed result() const;

 private:
  [[noreturn]] void execute(const sigset_t& mask, const std::vector<int>& others) const;
  void close_all() const;

  int asked_ = -1, said_ = -1, errors_ = -1, verdict_ = -1;  // files in memory
  int start_[2] = {-1, -1};                                  // a pipe: a byte lets it begin
  pid_t pid_ = -1;                                           // -1 when it has ended
  int status_ = 0;
};

/// One line with its end.
std::string answer_of(const Request& r, const Executed& e);
/// Of a request that no command was done for. `why` may be empty.
std::string refusal_of(const nlohmann::json& id, int status, const std::string& why);

}  // namespace assay
