// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/serve/request.hpp"
#include "reports/data/say.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

/// Needs no further descriptor: there may be none.
std::string text_of(int file) {
  std::string all;
  char piece[1 << 16];
  for (ssize_t n = 0; (n = pread(file, piece, sizeof piece, static_cast<off_t>(all.size()))) != 0;) {
    if (n < 0 && errno != EINTR)
      throw EnvironmentError(std::string("a file in memory: ") + std::strerror(errno));
    all.append(piece, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return all;
}

/// What every command asks first, and no command changes.
void get_ready() {
  prepare_device();
  why_not_sandboxed();
}

}  // namespace

Executor::Executor(const sigset_t& mask, const std::vector<int>& others) {
  for (int* const file : {&asked_, &said_, &errors_, &verdict_})
    *file = memfd_create("assay serve", MFD_CLOEXEC);
  std::fflush(nullptr);  // or both processes would write it
  const bool made = verdict_ >= 0 && pipe2(start_, O_CLOEXEC) == 0;
  const pid_t server = getpid();
  pid_ = made ? fork() : -1;
  if (pid_ < 0) {
    const int why = errno;
    close_all();
    throw EnvironmentError(std::string("no process for the command: ") + std::strerror(why));
  }
  if (pid_ > 0) {
    close(std::exchange(start_[0], -1));
    return;
  }
  // Nobody would wait for it.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != server) _exit(kEnvironment);
  // Whatever goes wrong must not go on from here: it would be a second server, with the socket of the first.
  try {
    execute(mask, others);
  } catch (const std::exception& e) {
    dprintf(STDERR_FILENO, "assay: %s\n", e.what());
  } catch (...) {
    dprintf(STDERR_FILENO, "assay: the command cannot be done\n");
  }
  _exit(kEnvironment);
}

void Executor::execute(const sigset_t& mask, const std::vector<int>& others) const {
  for (const int one : others) close(one);
  close(start_[1]);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(said_, STDOUT_FILENO) < 0 ||
      dup2(errors_, STDERR_FILENO) < 0)
    _exit(kEnvironment);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  get_ready();
  char byte = 0;
  while (read(start_[0], &byte, 1) < 0 && errno == EINTR) {
  }
  if (byte == 0) std::exit(kPassed);  // there was no command for it
  std::istringstream asked(text_of(asked_));
  std::string folder;
  std::getline(asked, folder, '\0');
  std::vector<std::string> words;
  for (std::string word; std::getline(asked, word, '\0');) words.push_back(word);
  if (!folder.empty()) {
    if (chdir(folder.c_str()) != 0) {
      say("assay: cwd {}: {}\n", folder, std::strerror(errno));
      std::exit(kBadCall);
    }
    setenv("PWD", folder.c_str(), 1);  // as a shell does
  }
  copy_answers_to(verdict_);
  std::vector<const char*> argv = {"assay"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::exit(run_assay(static_cast<int>(argv.size()), argv.data()));
}

Executor::~Executor() {
  if (start_[1] >= 0) close(std::exchange(start_[1], -1));  // a process that waits for a command ends
  if (pid_ > 0) {
    send(SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  close_all();
}

void Executor::close_all() const {
  for (const int file : {asked_, said_, errors_, verdict_, start_[0], start_[1]})
    if (file >= 0) close(file);
}

void Executor::begin(const std::vector<std::string>& words, const std::string& folder) {
  std::string text = folder + '\0';
  for (const std::string& word : words) text += word + '\0';
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(asked_, text.data() + at, text.size() - at);
    if (n < 0 && errno != EINTR)
      throw EnvironmentError(std::string("the command cannot be passed on: ") + std::strerror(errno));
    at += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  // If the process is dead already, that is its result.
  while (write(start_[1], "b", 1) < 0 && errno == EINTR) {
  }
}

bool Executor::ended() {
  if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = -1;
  return pid_ < 0;
}

void Executor::send(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

Executed Executor::result() const {
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_), text_of(said_),
          text_of(errors_), text_of(verdict_)};
}

}  // namespace assay
