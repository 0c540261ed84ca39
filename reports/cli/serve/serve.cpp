// SPDX-License-Identifier: Apache-2.0
// assay serve: does one request after the other, each in a process that is ready before it comes. The server
// itself runs no command, has one thread and never touches the GPU.
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/serve/request.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostClients = 64;

/// The socket that clients connect to. Its file ends with it.
class Listener {
 public:
  explicit Listener(const std::string& path) : path_(path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path)
      throw InputError("--socket " + path + ": a socket's path has at most " +
                       std::to_string(sizeof at.sun_path - 1) + " bytes");
    path.copy(at.sun_path, path.size());
    file_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file_ < 0) throw EnvironmentError(std::string("no socket: ") + std::strerror(errno));
    const mode_t before = umask(0177);  // nobody else may ever connect
    int error = bound(at);
    if (error == EADDRINUSE && stale(at)) {
      unlink(path.c_str());
      error = bound(at);
    }
    umask(before);
    struct stat made {};
    if (error == 0 && (listen(file_, SOMAXCONN) != 0 || lstat(path.c_str(), &made) != 0)) error = errno;
    if (error != 0) {
      close(file_);
      throw InputError("--socket " + path + ": " +
                       (error == EADDRINUSE ? why_in_use_ : std::string(std::strerror(error))));
    }
    device_ = made.st_dev, inode_ = made.st_ino;
  }
  ~Listener() {
    close(file_);
    struct stat now {};  // perhaps another server's by now
    if (lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
      unlink(path_.c_str());
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int file() const { return file_; }

 private:
  int bound(const sockaddr_un& at) const {
    return bind(file_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? 0 : errno;
  }
  /// True if a server that has ended left it. Otherwise says what is there.
  bool stale(const sockaddr_un& at) {
    struct stat there {};
    if (lstat(path_.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode)) {
      why_in_use_ = "there is a file, and it is no socket";
      return false;
    }
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool refused =
        connect(probe, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 && errno == ECONNREFUSED;
    close(probe);
    why_in_use_ = "a server listens there";
    return refused;
  }

  std::string path_, why_in_use_;
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

/// Whoever sends requests: a connection, or standard input and output.
struct Client {
  int in = -1, out = -1;
  bool is_socket = false;
  std::string read = {}, unsent = {};
  std::optional<std::string> line = {};  // the next request; no more is read until it is answered
  bool skips = false;                    // the rest of a line that was too long
  bool ended = false, gone = false;      // it sends no more; nobody reads its answers

  bool listens() const { return !line && !ended && unsent.empty(); }
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
    if (!listener_) clients_.push_back({.in = STDIN_FILENO, .out = STDOUT_FILENO});
  }
  ~Server() {
    for (const Client& c : clients_)
      if (c.is_socket) close(c.in);
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
    // A client that does not read must not keep the server.
    for (Client& c : clients_) send(c);
  }

 private:
  /// The process of the next request.
  void get_ready() {
    if (executor_ && !current_ && executor_->ended()) executor_.reset();  // something killed it
    if (executor_) return;
    std::vector<int> others = {signals_};
    if (listener_) others.push_back(listener_->file());
    for (const Client& c : clients_)
      if (c.is_socket) others.push_back(c.in);
    executor_ = std::make_unique<Executor>(mask_, others);
  }

  void begin(Client& c) {
    waiting_.pop_front();
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
    send(c);
    take_line(c);
  }

  static void send(Client& c) {
    while (!c.gone && !c.unsent.empty()) {
      const ssize_t n = c.is_socket ? ::send(c.out, c.unsent.data(), c.unsent.size(), MSG_DONTWAIT)
                                    : write(c.out, c.unsent.data(), c.unsent.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n < 0) c.gone = true;
      c.unsent.erase(0, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
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
    while (!c.line) {
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
      if (!c->is_socket && c->gone) ending_ = true;
      if (current_ == &*c) {
        // Nobody waits for its answer, but others may wait for their turn.
        if (c->gone) executor_->send(SIGTERM);
        ++c;
        continue;
      }
      if (c->is_socket) close(c->in);
      c = clients_.erase(c);
    }
  }

  void wait() {
    std::vector<pollfd> files = {{signals_, POLLIN, 0}};
    files.push_back({listener_ && clients_.size() < kMostClients ? listener_->file() : -1, POLLIN, 0});
    for (const Client& c : clients_) {
      files.push_back({c.gone || (!c.is_socket && !c.listens()) ? -1 : c.in,
                       static_cast<short>(c.listens() ? POLLIN : 0), 0});
      files.push_back({c.gone ? -1 : c.out, static_cast<short>(c.unsent.empty() ? 0 : POLLOUT), 0});
    }
    if (poll(files.data(), files.size(), -1) < 0) return;
    auto file = files.begin() + 2;
    for (Client& c : clients_) {
      const short in = (file++)->revents, out = (file++)->revents;
      if (c.listens() && (in & (POLLIN | POLLHUP)) != 0) receive(c);
      if ((out & (POLLERR | POLLNVAL)) != 0 || ((out & POLLHUP) != 0 && !c.listens())) c.gone = true;
      if ((out & POLLOUT) != 0) send(c);
    }
    if (files[1].revents != 0)
      if (const int one = accept4(listener_->file(), nullptr, nullptr, SOCK_CLOEXEC); one >= 0)
        clients_.push_back({.in = one, .out = one, .is_socket = true});
    if (files[0].revents != 0) take_signals();
  }

  void take_signals() {
    for (signalfd_siginfo one{}; read(signals_, &one, sizeof one) == sizeof one;) {
      const int number = static_cast<int>(one.ssi_signo);
      if (number == SIGCHLD) continue;
      // The command ends as it would by itself; whoever asks twice does not wait for that.
      if (current_) executor_->send(ending_ ? SIGKILL : number);
      ending_ = true;
    }
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
