// SPDX-License-Identifier: Apache-2.0
// assay serve: does one request after the other, each in a process that is ready before it comes. The server
// itself runs no command, has one thread and never touches the GPU.
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/serve/listener.hpp"
#include "reports/cli/serve/request.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostClients = 64;
/// So long the last answers may take on their way once the server is to end.
constexpr std::chrono::seconds kLongestFarewell(3);
constexpr int kRest = 200;  // milliseconds

/// Standard output, in a way that never waits. The caller's own description of it stays as it is: a pipe or a
/// terminal is opened anew. A file never lets anybody wait, and opened anew it would be written from its
/// start. What cannot be opened anew is written after a look whether it takes a piece (see send).
int standard_output() {
  struct stat out {};
  if (fstat(STDOUT_FILENO, &out) != 0 || !(S_ISFIFO(out.st_mode) || isatty(STDOUT_FILENO) != 0))
    return STDOUT_FILENO;
  const int own = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  return own < 0 ? STDOUT_FILENO : own;
}

bool is_socket(int file) {
  struct stat it {};
  return fstat(file, &it) == 0 && S_ISSOCK(it.st_mode);
}

/// Whoever sends requests: a connection, or standard input and output.
struct Client {
  int in = -1, out = -1;
  bool is_standard = false;  // standard input and output
  bool is_socket = false;    // `out` is one
  std::string read = {}, unsent = {};
  std::optional<std::string> line = {};  // the next request; no more is read until it is answered
  bool skips = false;                    // the rest of a line that was too long
  bool ended = false, gone = false;      // it sends no more; nobody reads its answers

  bool listens() const { return !line && !ended && unsent.empty(); }
  /// False while it leaves an answer unread: so it has one answer here at most.
  bool may_ask() const { return !line && !gone && unsent.empty(); }
  bool is_done() const { return gone || (ended && !line && unsent.empty()); }
};

class Server {
 public:
  explicit Server(const std::string& path) {
    if (!path.empty()) listener_.emplace(path);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGCHLD, SIG_DFL);
    sigset_t watched;
    sigemptyset(&watched);
    for (const int one : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched, one);
    sigprocmask(SIG_BLOCK, &watched, &mask_);
    signals_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (listener_) return;
    const int out = standard_output();
    clients_.push_back({.in = STDIN_FILENO, .out = out, .is_standard = true, .is_socket = is_socket(out)});
  }
  ~Server() {
    for (const Client& c : clients_) close_files(c);
    close(signals_);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void run() {
    get_ready();
    for (;;) {
      if (current_ && executor_->ended()) finish();
      while (!current_ && !ending_ && !waiting_.empty()) begin(*waiting_.front());
      forget_clients();
      if (!current_ && (ending_ || (!listener_ && clients_.empty()))) break;
      wait();
    }
    say_farewell();
  }

 private:
  /// The process of the next request.
  void get_ready() {
    if (executor_ && !current_ && executor_->ended()) executor_.reset();  // something killed it
    if (executor_) return;
    std::vector<int> others = {signals_};
    if (listener_) others.push_back(listener_->file());
    for (const Client& c : clients_)
      if (c.out != STDOUT_FILENO) others.push_back(c.out);
    executor_ = std::make_unique<Executor>(mask_, others);
  }

  void begin(Client& c) {
    waiting_.pop_front();
    if (c.gone) return;
    request_ = read_request(*c.line);
    if (!request_.wrong.empty()) return answer(c, refusal_of(request_.id, kBadCall, request_.wrong));
    if (request_.stop) {
      ending_ = true;
      return answer(c, refusal_of(request_.id, kPassed, ""));
    }
    try {
      get_ready();
      executor_->begin(request_.words, request_.folder);
      current_ = &c;
    } catch (const EnvironmentError& e) {
      executor_.reset();
      answer(c, refusal_of(request_.id, kEnvironment, e.what()));
    }
  }

  /// The process of the request has ended.
  void finish() {
    Client& c = *std::exchange(current_, nullptr);
    const Executed result = executor_->result();
    executor_.reset();
    if (!ending_) try {
        get_ready();  // while nobody waits
      } catch (const EnvironmentError&) {
        // The next request tries again.
      }
    answer(c, answer_of(request_, result));
  }

  void answer(Client& c, const std::string& text) {
    c.line.reset();
    c.unsent += text;
    go_on(c);
  }

  void go_on(Client& c) {
    send(c);
    take_line(c);
  }

  /// Never waits. What has room has room for PIPE_BUF bytes.
  static void send(Client& c) {
    while (!c.gone && !c.unsent.empty()) {
      pollfd room = {c.out, POLLOUT, 0};
      if (!c.is_socket && poll(&room, 1, 0) == 0) return;
      const ssize_t n = c.is_socket
                            ? ::send(c.out, c.unsent.data(), c.unsent.size(), MSG_DONTWAIT)
                            : write(c.out, c.unsent.data(), std::min<std::size_t>(c.unsent.size(), PIPE_BUF));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n < 0) c.gone = true;
      c.unsent.erase(0, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
  }

  /// Sends what is answered. A client that does not read keeps the server for a moment, and not if one more
  /// signal comes.
  void say_farewell() {
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + kLongestFarewell;;) {
      std::vector<pollfd> files = {{signals_, POLLIN, 0}};
      for (Client& c : clients_) {
        send(c);
        if (!c.gone && !c.unsent.empty()) files.push_back({c.out, POLLOUT, 0});
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      if (files.size() == 1 || left <= 0) return;
      if (poll(files.data(), files.size(), static_cast<int>(left)) > 0 && files[0].revents != 0 &&
          take_signals())
        return;
    }
  }

  void receive(Client& c) {
    char piece[1 << 16];
    const ssize_t n = read(c.in, piece, sizeof piece);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0)
      c.ended = true;
    else
      c.read.append(piece, static_cast<std::size_t>(n));
    take_line(c);
  }

  /// The next line of what was read, if it is whole.
  void take_line(Client& c) {
    while (c.may_ask()) {
      const std::size_t end = c.read.find('\n');
      if (end == c.read.npos && (c.ended ? c.read.empty() : c.read.size() <= kMostOfALine)) return;
      std::string line = c.read.substr(0, end);
      c.read.erase(0, end == c.read.npos ? end : end + 1);
      const bool skipped = std::exchange(c.skips, end == c.read.npos && !c.ended);
      if (skipped || line.find_first_not_of(" \t\r") == line.npos) continue;
      if (line.size() > kMostOfALine) {
        c.unsent += refusal_of(nullptr, kBadCall, "a line of more than 1 MiB");
        send(c);
        continue;
      }
      c.line = std::move(line);
      waiting_.push_back(&c);
    }
  }

  void forget_clients() {
    for (auto c = clients_.begin(); c != clients_.end();) {
      if (!c->is_done()) {
        ++c;
        continue;
      }
      std::erase(waiting_, &*c);
      if (c->is_standard && c->gone) ending_ = true;
      if (current_ == &*c) {
        // Nobody waits for its answer, but others may wait for their turn.
        if (c->gone) executor_->send(SIGTERM);
        ++c;
        continue;
      }
      close_files(*c);
      c = clients_.erase(c);
    }
  }

  static void close_files(const Client& c) {
    if (c.out != STDOUT_FILENO) close(c.out);  // a connection has no other
  }

  void wait() {
    std::vector<pollfd> files = {{signals_, POLLIN, 0}};
    const bool rests = std::exchange(rests_, false);
    files.push_back(
        {listener_ && !rests && clients_.size() < kMostClients ? listener_->file() : -1, POLLIN, 0});
    // One entry a connection: more entries than descriptors are refused.
    for (const Client& c : clients_) {
      const short in = c.listens() ? POLLIN : 0, out = c.unsent.empty() ? 0 : POLLOUT;
      if (c.is_standard) files.push_back({c.gone || !c.listens() ? -1 : c.in, in, 0});
      files.push_back({c.gone ? -1 : c.out, static_cast<short>(c.is_standard ? out : in | out), 0});
    }
    if (poll(files.data(), files.size(), rests ? kRest : -1) < 0) return;
    auto file = files.begin() + 2;
    for (Client& c : clients_) {
      const short in = c.is_standard ? (file++)->revents : file->revents, out = (file++)->revents;
      if (c.listens() && (in & (POLLIN | POLLHUP)) != 0) receive(c);
      if ((out & (POLLERR | POLLNVAL)) != 0 || ((out & POLLHUP) != 0 && !c.listens())) c.gone = true;
      if ((out & POLLOUT) != 0) go_on(c);
    }
    if (files[1].revents != 0) accept();
    if (files[0].revents != 0) take_signals();
  }

  void accept() {
    const int one = accept4(listener_->file(), nullptr, nullptr, SOCK_CLOEXEC);
    if (one >= 0) clients_.push_back({.in = one, .out = one, .is_socket = true});
    // Whoever wants to come still does, and would be reported again and again.
    rests_ = one < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
  }

  /// True if one asked for the end.
  bool take_signals() {
    bool asked = false;
    for (signalfd_siginfo one{}; read(signals_, &one, sizeof one) == sizeof one;) {
      const int number = static_cast<int>(one.ssi_signo);
      if (number == SIGCHLD) continue;
      // The command ends as it would by itself; whoever asks twice does not wait for that.
      if (current_) executor_->send(ending_ ? SIGKILL : number);
      ending_ = asked = true;
    }
    return asked;
  }

  sigset_t mask_{};
  int signals_ = -1;
  std::optional<Listener> listener_;
  std::list<Client> clients_;
  std::deque<Client*> waiting_;  // those with a request, first come first served
  std::unique_ptr<Executor> executor_;
  Client* current_ = nullptr;  // whose request is done now
  Request request_;
  bool ending_ = false;
  bool rests_ = false;  // there is no descriptor for another client
};

}  // namespace

static void add_serve_command(CLI::App& app, int& status) {
  CLI::App* c = app.add_subcommand(
      "serve", "answers requests, a JSON object a line, in processes that are ready before they come");
  auto path = std::make_shared<std::string>();
  c->add_option("--socket", *path,
                "listen on a Unix socket that is made here, instead of standard input and output");
  c->footer(
      "A request has the members id (anything), command (a list of words) and, if relative paths are meant from\n"
      "there, cwd (an absolute folder). The words are those of assay check, grade, adopt, verify, replay, inputs,\n"
      "list or schema. An answer has id, status, verdict (what --json prints), said and errors; a wrong request\n"
      "gets id, status 2 and error. The command \"stop\", a signal or the end of input ends the server.");
  c->callback([path, &status] {
    Server(*path).run();
    status = kPassed;
  });
}

const Command serve_command = {"serve",
                               add_serve_command,
                               {"0  ended: by a request, by a signal, or by the end of input", kBadCallText,
                                "3  the machine lacks what was asked for: no process, no socket"},
                               {"assay serve > answers.jsonl", "assay serve --socket /tmp/assay.sock"}};

}  // namespace assay
