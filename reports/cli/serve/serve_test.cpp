// SPDX-License-Identifier: Apache-2.0
// assay serve in a process of its own: what it answers, in which order, and how it ends.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <fstream>
#include <list>
#include <nlohmann/json.hpp>
#include <thread>

#include "reports/cli/long_runs/process_test.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

sockaddr_un address(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  return at;
}

/// A connection to a server, which may be about to start.
class Connection {
 public:
  explicit Connection(const std::string& path) {
    const sockaddr_un at = address(path);
    for (int tries = 0; tries < 6000; ++tries) {
      file_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(file_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return;
      close(file_);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "nobody listens at " << path;
  }
  ~Connection() { close(file_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void ask(const json& request) const {
    const std::string line = request.dump() + "\n";
    EXPECT_EQ(send(file_, line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }
  /// The next line; waits for it.
  json answer() {
    for (char piece[4096];;) {
      if (const std::size_t end = read_.find('\n'); end != read_.npos) {
        json all = json::parse(read_.substr(0, end), nullptr, false);
        read_.erase(0, end + 1);
        return all;
      }
      const ssize_t n = recv(file_, piece, sizeof piece, 0);
      if (n <= 0) return nullptr;
      read_.append(piece, static_cast<std::size_t>(n));
    }
  }
  bool has_answer() const {
    char byte = 0;
    return recv(file_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }

 private:
  int file_ = -1;
  std::string read_;
};

class Serve : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP() << "there is no command `assay`";
  }
  /// Serves this standard input, and writes to the end of the file "out".
  void serve(const std::string& input) const {
    std::ofstream(at("in")) << input;
    const int in = open(at("in").c_str(), O_RDONLY | O_CLOEXEC),
              out = open(at("out").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    pid_t pid = -1;
    EXPECT_EQ(isolation::start({.words = {ASSAY_COMMAND, "serve"}, .descriptors = {{in, 0}, {out, 1}}}, pid),
              0);
    close(in);
    close(out);
    EXPECT_EQ(process_test::wait_for(pid).status, 0);
  }
  /// What it answers to this standard input, and how it ends.
  std::vector<json> answers_to(const std::string& input) const {
    std::filesystem::remove(at("out"));
    serve(input);
    std::vector<json> all;
    for (const std::string& line : lines("out")) all.push_back(json::parse(line, nullptr, false));
    return all;
  }
  pid_t start(const std::string& path) const {
    return process_test::start({ASSAY_COMMAND, "serve", "--socket", path}, {}, at("server.out"),
                               at("server.err"));
  }
  /// Until the check in this folder has finished cases. Only then it says how to go on.
  void wait_for_cases(const std::string& folder) const {
    const std::string file = folder + "/unfinished.jsonl";
    while (!std::filesystem::exists(at(file)) || lines(file).size() < 6)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  static json request(const json& id, const Words& words) { return {{"id", id}, {"command", words}}; }
};

TEST_F(Serve, AWrongRequestIsAnsweredAndTheServerGoesOn) {
  const std::string deep(100, '['), longer(std::size_t{3} << 20, 'x');
  const std::vector<json> all = answers_to(
      "no json\n\n[]\n{\"id\": 1}\n{\"id\": 2, \"command\": []}\n{\"id\": 3, \"command\": [\"chek\"]}\n"
      "{\"id\": 4, \"command\": [\"list\", 5]}\n{\"id\": 5, \"command\": [\"list\", \"a\\u0000\"]}\n"
      "{\"id\": 6, \"command\": [\"list\"], \"cwd\": \"here\"}\n{\"id\": 7, \"comand\": [\"list\"]}\n"
      "{\"id\": 8, \"id\": 9, \"command\": [\"list\"]}\n{\"id\": " +
      deep + "\n" + longer +
      "\n{\"id\": {\"a\": [8]}, \"command\": [\"list\", \"--ops\"]}\n"
      "{\"id\": 9, \"command\": [\"check\", \"no.cu\"]}\n"
      "{\"id\": 10, \"command\": [\"list\"], \"cwd\": \"/no/such\"}\n{\"id\": 11, \"command\": \"stop\"}\n"
      "{\"id\": 12, \"command\": [\"list\"]}");
  const std::pair<json, const char*> wrong[] = {{nullptr, "is not JSON: line 1, column 2"},
                                                {nullptr, "must be an object"},
                                                {1, "must have a \"command\""},
                                                {2, "list of words"},
                                                {3, "did you mean check?"},
                                                {4, "must be a text"},
                                                {5, "character 0"},
                                                {6, "absolute path"},
                                                {7, "comand: a request has id, command and cwd"},
                                                {nullptr, "has the member \"id\" twice"},
                                                {nullptr, "is nested too deep"},
                                                {nullptr, "more than 1 MiB"}};
  ASSERT_EQ(all.size(), std::size(wrong) + 4);
  for (std::size_t i = 0; i < std::size(wrong); ++i) {
    EXPECT_EQ(all[i].at("id"), wrong[i].first) << all[i];
    EXPECT_EQ(all[i].at("status"), 2) << all[i];
    EXPECT_NE(all[i].at("error").get<std::string>().find(wrong[i].second), std::string::npos) << all[i];
  }
  const json* rest = &all[std::size(wrong)];
  EXPECT_EQ(rest[0].at("id"), json({{"a", {8}}}));
  EXPECT_EQ(rest[0].at("status"), 0);
  EXPECT_EQ(rest[0].at("said"), process_test::run({"list", "--ops"}).out);
  EXPECT_EQ(rest[1], json({{"id", 9},
                           {"status", 2},
                           {"verdict", nullptr},
                           {"said", ""},
                           {"errors", "assay: no.cu: no such file\n"}}));
  EXPECT_EQ(rest[2].at("errors"), "assay: cwd /no/such: No such file or directory\n");
  EXPECT_EQ(rest[3], json({{"id", 11}, {"status", 0}}));
}

TEST_F(Serve, TwoRequestsAreAsTwoProcesses) {
  std::ofstream(at("by_four.cu")) << process_test::kByFour;
  const Words key = {"check", "safe_block/f32@host", "--quick", "--only", "shapes", "properties"},
              file = {"check",   at("by_four.cu"), "--entry", "by_four",   "--host",
                      "--quick", "--only",         "shapes",  "properties"};
  std::string input;
  std::vector<std::pair<Words, std::string>> calls;
  for (const auto& [words, seed] : {std::pair(key, "1"), {key, "2"}, {file, "1"}, {key, "1"}, {file, "2"}}) {
    calls.emplace_back(words, seed);
    Words& whole = calls.back().first;
    whole.insert(whole.end(), {"--seed", seed, "--out"});
    json one = request(calls.size(), whole);
    one["command"].push_back("served" + std::to_string(calls.size()));
    one["cwd"] = at("");
    input += one.dump() + "\n";
  }
  const std::vector<json> all = answers_to(input);
  ASSERT_EQ(all.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    Words words = calls[i].first;
    words.push_back(at("alone" + number));
    const process_test::Finished alone = process_test::run(words);
    EXPECT_EQ(all[i].at("status"), alone.status) << all[i];
    EXPECT_EQ(records("served" + number), records("alone" + number)) << number;
    EXPECT_EQ(all[i].at("verdict").at("exit_status"), alone.status);
    EXPECT_EQ(read_file(at("served" + number + "/contract.json")),
              read_file(at("alone" + number + "/contract.json")));
  }
  EXPECT_EQ(records("served1"), records("served4"));
  EXPECT_NE(records("served1"), records("served2"));
}

TEST_F(Serve, AnEditedFileIsJudgedAnew) {
  const pid_t server = start(at("s"));
  Connection c(at("s"));
  const Words words = {"check",  at("k.cu"), "--entry",  "by_four",  "--host",
                       "--only", "families", "--family", "normal_1", "--V",
                       "32",     "--seed",   "1",        "--out",    at("o")};
  std::string wrong = process_test::kByFour;
  wrong.replace(wrong.find("/ d"), 3, "* 2");
  for (const std::string& text :
       {std::string(process_test::kByFour), wrong, std::string(process_test::kByFour)}) {
    std::ofstream(at("k.cu")) << text;
    c.ask(request(1, words));
    EXPECT_EQ(c.answer().at("status"), text == wrong ? 1 : 0);
  }
  c.ask({{"command", "stop"}});
  EXPECT_EQ(c.answer().at("status"), 0);
  EXPECT_EQ(process_test::wait_for(server).status, 0);
  EXPECT_FALSE(std::filesystem::exists(at("s")));
}

TEST_F(Serve, FirstComeFirstServed) {
  const pid_t server = start(at("s"));
  Connection a(at("s")), b(at("s"));
  struct stat made {};
  ASSERT_EQ(stat(at("s").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600u);
  a.ask(request(
      "a", {"check", "safe_block/f32@host", "--only", "shapes", "--quick", "--seed", "1", "--out", at("o")}));
  // Once the check has begun.
  while (!std::filesystem::exists(at("o"))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  b.ask(request("b", {"list", "--ops"}));
  EXPECT_EQ(b.answer().at("id"), "b");
  EXPECT_TRUE(a.has_answer());
  EXPECT_EQ(a.answer().at("status"), 0);
  kill(server, SIGINT);
  EXPECT_EQ(process_test::wait_for(server).status, 0);
  EXPECT_FALSE(std::filesystem::exists(at("s")));
}

TEST_F(Serve, AClientThatGoesAwayEndsItsRequestAndNothingElse) {
  const pid_t server = start(at("s"));
  const Words full = {"check", "safe_block/f32@host", "--full", "--seed", "1", "--out", at("o")};
  {
    Connection gone(at("s"));
    gone.ask(request(1, full));
    gone.ask(request(2, {"check", "safe_block/f32@host", "--full", "--seed", "1", "--out", at("next")}));
    wait_for_cases("o");
  }
  Connection c(at("s"));
  c.ask(request(2, {"list", "--ops"}));
  EXPECT_EQ(c.answer().at("id"), 2);
  EXPECT_TRUE(std::filesystem::exists(at("o/unfinished.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(at("o/records.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(at("next")));

  // A signal ends a check as it would end that command.
  c.ask(request(3, {"check", "safe_block/f32@host", "--full", "--seed", "1", "--out", at("o2")}));
  wait_for_cases("o2");
  kill(server, SIGTERM);
  const json last = c.answer();
  EXPECT_EQ(last.at("status"), 128 + SIGTERM);
  EXPECT_NE(last.at("errors").get<std::string>().find("assay: to go on: assay check"), std::string::npos)
      << last;
  EXPECT_EQ(process_test::wait_for(server).status, 0);
}

TEST_F(Serve, WhoeverReadsLateGetsEveryAnswer) {
  const pid_t server = start(at("s"));
  Connection c(at("s"));
  for (int i = 0; i < 40; ++i) c.ask(request(i, {"schema"}));
  c.ask({{"id", 40}, {"command", "stop"}});
  // The server has done what it can while nobody reads.
  while (!c.has_answer()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i <= 40; ++i) {
    const json answer = c.answer();
    ASSERT_TRUE(answer.is_object()) << i;
    EXPECT_EQ(answer.at("id"), i);
  }
  EXPECT_EQ(process_test::wait_for(server).status, 0);
}

TEST_F(Serve, ASignalEndsItWhileNobodyReadsStandardOutput) {
  std::ofstream in_file(at("in"));
  for (int i = 0; i < 40; ++i) in_file << request(i, {"schema"}).dump() << "\n";
  in_file.close();
  const int in = open(at("in").c_str(), O_RDONLY | O_CLOEXEC);
  int out[2] = {-1, -1};
  ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
  pid_t pid = -1;
  ASSERT_EQ(isolation::start({.words = {ASSAY_COMMAND, "serve"}, .descriptors = {{in, 0}, {out[1], 1}}}, pid),
            0);
  close(in);
  for (pollfd room = {out[1], POLLOUT, 0}; poll(&room, 1, 0) == 1;)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(pid, SIGTERM);
  EXPECT_EQ(process_test::wait_for(pid).status, 0);
  EXPECT_EQ(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);  // the description is the caller's
  for (const int one : out) close(one);
}

TEST_F(Serve, AFileIsAppendedTo) {
  std::ofstream(at("out")) << "mine\n";
  serve(request(1, {"list", "--ops"}).dump() + "\n");
  ASSERT_EQ(lines("out").size(), 2u);
  EXPECT_EQ(lines("out")[0], "mine");
}

TEST_F(Serve, ItGoesOnWithoutADescriptorForMoreClients) {
  const pid_t server = process_test::start(
      {"/bin/sh", "-c", "ulimit -n 20; exec \"$0\" serve --socket \"$1\"", ASSAY_COMMAND, at("s")}, {},
      at("server.out"), at("server.err"));
  Connection first(at("s"));
  {
    std::list<Connection> more;
    for (int i = 0; i < 20; ++i) more.emplace_back(at("s"));
    for (int i = 0; i < 3; ++i) {
      first.ask(request(i, {"list", "--ops"}));
      EXPECT_EQ(first.answer().at("id"), i);
    }
  }
  Connection last(at("s"));
  last.ask(request("last", {"list", "--ops"}));
  EXPECT_EQ(last.answer().at("status"), 0);
  kill(server, SIGTERM);
  EXPECT_EQ(process_test::wait_for(server).status, 0);
}

TEST_F(Serve, OfTwoThatStartTogetherOneServes) {
  for (int i = 0; i < 10; ++i) {
    const int old = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un place = address(at("s"));
    ASSERT_EQ(bind(old, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    close(old);
    const pid_t both[] = {start(at("s")), start(at("s"))};
    int status = 0;
    const pid_t second = waitpid(-1, &status, 0);
    ASSERT_TRUE(second == both[0] || second == both[1]);
    EXPECT_EQ(WEXITSTATUS(status), 2);
    Connection c(at("s"));
    c.ask({{"command", "stop"}});
    EXPECT_EQ(c.answer().at("status"), 0);
    EXPECT_EQ(process_test::wait_for(second == both[0] ? both[1] : both[0]).status, 0);
    EXPECT_FALSE(std::filesystem::exists(at("s")));
  }
}

TEST_F(Serve, OnlyAStaleSocketIsReplaced) {
  const int old = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un place = address(at("s"));
  ASSERT_EQ(bind(old, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  close(old);
  const pid_t server = start(at("s"));
  Connection c(at("s"));
  std::ofstream(at("file")) << "mine";
  const int held = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un other = address(at("held"));
  ASSERT_EQ(bind(held, reinterpret_cast<const sockaddr*>(&other), sizeof other), 0);
  for (const auto& [path, why] : {std::pair(at("s"), "a server listens there"),
                                  {at("file"), "there is a file, and it is no socket"},
                                  {at("held"), "there is a socket of a program that does not listen"},
                                  {at("no/s"), "No such file or directory"},
                                  {at(std::string(200, 'x')), "a socket's path has at most 107 bytes"}}) {
    const process_test::Finished e = process_test::run({"serve", "--socket", path});
    EXPECT_EQ(e.status, 2);
    EXPECT_EQ(e.err, "assay: --socket " + path + ": " + why + "\n");
  }
  EXPECT_EQ(read_file(at("file")), "mine");
  EXPECT_TRUE(std::filesystem::exists(at("held")));
  close(held);
  kill(server, SIGTERM);
  EXPECT_EQ(process_test::wait_for(server).status, 0);
}

}  // namespace
}  // namespace assay
