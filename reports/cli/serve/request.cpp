// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/serve/request.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/isolation/shared/plain_text.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/commands.hpp"

namespace assay {
namespace {

using nlohmann::json;

/// They judge, or say what there is to judge, and end by themselves.
constexpr const char* kCommands[] = {"check",  "grade",  "adopt", "verify",
                                     "replay", "inputs", "list",  "schema"};
/// Deep JSON is written by a function that calls itself.
constexpr int kMostDepth = 64;

json object_of(const std::string& line) {
  try {
    const auto shallow = [](int depth, json::parse_event_t, json&) {
      if (depth > kMostDepth) throw InputError("is nested too deep");
      return true;
    };
    [[maybe_unused]] const json seen = json::parse(line, shallow, false);
    return parse_json(line);
  } catch (const InputError& e) {
    throw InputError(std::string("the request ") + e.what());
  }
}

std::string text_in(const json& value, const char* what) {
  if (!value.is_string()) throw InputError(std::string(what) + " must be a text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.find('\0') != text.npos) throw InputError(std::string(what) + " has a character 0");
  return text;
}

void read_command(const json& command, Request& r) {
  if (command == "stop") {
    r.stop = true;
    return;
  }
  if (!command.is_array() || command.empty())
    throw InputError(R"("command" must be a list of words, or "stop")");
  for (const json& word : command) r.words.push_back(text_in(word, "a word of \"command\""));
  if (std::ranges::find(kCommands, r.words[0]) != std::end(kCommands)) return;
  std::string all;
  for (const char* const one : kCommands) all += (all.empty() ? "" : ", ") + std::string(one);
  const std::vector<std::string> known(std::begin(kCommands), std::end(kCommands));
  throw InputError(shell_quoted(r.words[0].substr(0, 100)) + ": a server does " + all +
                   did_you_mean(r.words[0], known));
}

void read_members(const json& object, Request& r) {
  if (!object.is_object()) throw InputError("a request must be an object");
  if (object.contains("id")) r.id = object["id"];
  for (const auto& [name, value] : object.items())
    if (name != "id" && name != "command" && name != "cwd")
      throw InputError(shell_quoted(name.substr(0, 100)) + ": a request has id, command and cwd");
  if (!object.contains("command")) throw InputError(R"(a request must have a "command")");
  if (object.contains("cwd")) {
    r.folder = text_in(object["cwd"], "\"cwd\"");
    if (!r.folder.starts_with('/')) throw InputError("\"cwd\" must be an absolute path");
  }
  read_command(object["command"], r);
}

std::string line_of(const nlohmann::ordered_json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

Request read_request(const std::string& line) {
  Request r;
  try {
    read_members(object_of(line), r);
  } catch (const InputError& e) {
    r.wrong = e.what();
  }
  return r;
}

std::string answer_of(const Request& r, const Executed& e) {
  json verdict = json::parse(e.verdict, nullptr, false);
  if (verdict.is_discarded()) verdict = nullptr;
  return line_of({{"id", r.id},
                  {"status", e.status},
                  {"verdict", std::move(verdict)},
                  {"said", e.said},
                  {"errors", e.errors}});
}

std::string refusal_of(const json& id, int status, const std::string& why) {
  nlohmann::ordered_json answer = {{"id", id}, {"status", status}};
  if (!why.empty()) answer["error"] = isolation::plain_text(why);
  return line_of(answer);
}

}  // namespace assay
