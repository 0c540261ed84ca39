// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/compile/compiler_log.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>
#include <vector>

#include "kernels/adapter/compile/host_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

bool is_error(const std::string& line) {
  return line.find("error: ") != line.npos || line.find("error : ") != line.npos ||
         line.find("undefined reference") != line.npos;
}
bool says(const std::string& line, const char* words) { return line.find(words) != line.npos; }

/// Replaces typographic quotes with plain ones.
std::string with_plain_quotes(std::string s) {
  for (const char* quote : {"\u2018", "\u2019"})
    for (std::size_t i = s.find(quote); i != s.npos; i = s.find(quote)) s.replace(i, 3, "'");
  return s;
}

/// The message after "error:".
std::string message_of(const std::string& line) {
  const std::size_t at = line.find("error: ");
  return with_plain_quotes(at == line.npos ? line : line.substr(at + std::strlen("error: "))).substr(0, 300);
}

/// CUDA's word that a host compiler does not know. Empty if the line is about something else.
std::string missing_word(const std::string& line) {
  if (line.find("error: ") == line.npos) return {};
  const std::string message = message_of(line);
  for (const auto& [before, after] :
       {std::pair("", " was not declared in this scope"), std::pair("", " does not name a type"),
        std::pair("there are no arguments to ", " that depend on"),
        std::pair("use of undeclared identifier ", "")}) {
    if (!message.starts_with(before) || !says(message, after)) continue;
    const std::size_t from = message.find('\'');
    const std::size_t to = from == message.npos ? from : message.find('\'', from + 1);
    if (to == message.npos) continue;
    const std::string word = message.substr(from + 1, to - from - 1);
    for (const char* start : {"__", "cuda", "CUDA", "nvcuda", "atomic"})
      if (word.starts_with(start)) return word;
  }
  // Libraries of which the executor has a part: the namespace in the message says which.
  for (const char* library : {"cub", "cooperative_groups"})
    if (says(message, ("'assay::host::" + std::string(library) + "'").c_str()) && message.starts_with('\''))
      return library + ("::" + message.substr(1, message.find('\'', 1) - 1));
  return {};
}

/// Adds the full names, with namespaces and classes, under which a text has `function` followed by '('
/// outside every function body.
void add_places(const std::string& text, const std::string& function, std::set<std::string>& places) {
  std::vector<SourceToken> t = source_tokens(text);
  std::erase_if(t, [](const SourceToken& s) {
    return s.kind == SourceToken::blank || s.kind == SourceToken::directive;
  });
  std::vector<std::string> around;  // "N::", "" for an unnamed namespace, "{" for anything else
  std::size_t statement = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i].is("{")) {
      std::string scope = "{";
      for (std::size_t s = statement; s < i; ++s) {
        if (!t[s].is("namespace") && !t[s].is("class") && !t[s].is("struct")) continue;
        scope.clear();
        for (std::size_t n = s + 1; n < i && (t[n].kind == SourceToken::word || t[n].is("::")); ++n)
          scope += t[n].spelling;
        if (!scope.empty()) scope += "::";
        break;
      }
      const bool linkage = i > statement && t[statement].is("extern") && t[i - 1].kind == SourceToken::text;
      around.push_back(linkage ? "" : scope);
      statement = i + 1;
    } else if (t[i].is("}")) {
      if (!around.empty()) around.pop_back();
      statement = i + 1;
    } else if (t[i].is(";")) {
      statement = i + 1;
    } else if (t[i].is(function) && i + 1 < t.size() && t[i + 1].is("(") &&
               std::find(around.begin(), around.end(), "{") == around.end()) {
      std::string place;
      for (const std::string& scope : around) place += scope;
      places.insert(place + function);
    }
  }
}

}  // namespace

std::string first_error(const std::string& log) {
  std::istringstream in(log);
  std::string first;
  int more = -1;
  for (std::string line; std::getline(in, line);) {
    if (!is_error(line)) continue;
    if (++more == 0) first = with_plain_quotes(line).substr(0, 300);
  }
  const std::size_t link = first.find("undefined reference to ");
  if (link != first.npos)
    first = "nothing that is compiled here defines " +
            first.substr(link + std::strlen("undefined reference to "));
  return first + (more > 0 ? ", and " + std::to_string(more) + " more" : "");
}

bool in_adapter(const std::string& log) {
  std::istringstream in(log);
  for (std::string line; std::getline(in, line);)
    if (const std::size_t at = line.find("error: "); at != line.npos)
      return says(line.substr(0, at), "_adapter.c");
  return false;
}

BehindMacro behind_macro(const std::string& function, const std::string& source,
                         const std::set<std::string>& texts) {
  const std::string plain_name = function.substr(0, function.find('<'));
  std::string maker;
  for (const std::string& text : texts)
    for (const SourceToken& t : source_tokens(text)) {
      if (t.kind != SourceToken::directive) continue;
      // Looks for #define NAME(
      std::vector<SourceToken> words = source_tokens(t.spelling.substr(1));
      std::erase_if(words, [](const SourceToken& w) { return w.kind == SourceToken::blank; });
      if (words.size() < 2 || !words[0].is("define") || words[1].kind != SourceToken::word) continue;
      const std::string name(words[1].spelling), line = std::to_string(t.line);
      if (name == plain_name)
        return {source + ": " + in_quotes(name) + " is a macro (line " + line +
                    "): --entry takes the function that it makes or calls",
                true};
      if (maker.empty() && t.spelling.find("##") != t.spelling.npos)
        maker = in_quotes(name) + " (line " + line + ")";
    }
  if (maker.empty()) return {};
  return {source + ": has no function " + in_quotes(function) + ", which --entry names; the macro " + maker +
          " makes names by ##: --entry takes one that a use of it makes"};
}

std::string unspoken(const std::string& log) {
  std::istringstream in(log);
  std::string missing;
  for (std::string line; std::getline(in, line);) {
    const std::size_t error = line.find(" error");
    if (error == line.npos) continue;
    if (const std::size_t at = line.find(kNotExecutable); at != line.npos)
      return line.substr(0, error) + " " + line.substr(at) +
             " (the host executor does not speak it; without --host nvcc does)";
    if (const std::string word = missing_word(line); missing.empty() && !word.empty())
      missing = line.substr(0, error) + " " + kNotExecutable + word +
                " (the host executor has no such word; without --host nvcc may)";
  }
  return missing;
}

std::string misfit(const std::string& log, const std::string& function, const std::string& source,
                   const std::set<std::string>& texts, const std::string& log_path) {
  std::istringstream in(log);
  std::string line;
  // Only the adapter has that file name, and all it does with the file is this one call.
  if (!in_adapter(log)) return {};
  while (std::getline(in, line) && !says(line, "error: ")) {
  }
  const std::string message = message_of(line);
  const std::string called = in_quotes(function);
  for (const char* amount : {"few", "many"})
    if (says(message, (std::string("too ") + amount + " arguments").c_str())) {
      const std::size_t at = message.find(" to function ");
      return source + ": " + called + " takes " + (amount[0] == 'f' ? "more" : "fewer") +
             " arguments than --entry gives it" +
             (at == message.npos ? "" : ": it is " + message.substr(at + std::strlen(" to function ")));
    }
  for (const char* member : {"without object", "nonstatic member", "non-static member"})
    if (says(message, member))
      return source + ": " + called +
             " is called on an object: --entry takes a function, or a static member function";
  const std::string plain = function.substr(0, function.find('<'));
  const std::size_t colon = plain.rfind(':');
  for (const char* unknown : {"was not declared", "is undefined", "has no member", "is not a member"}) {
    if (!says(message, unknown)) continue;
    const std::string last = colon == plain.npos ? plain : plain.substr(colon + 1);
    std::set<std::string> places;
    for (const std::string& text : texts) add_places(text, last, places);
    places.erase(plain);
    if (places.empty()) break;
    std::string all;
    for (const std::string& p : places) all += (all.empty() ? "" : ", ") + in_quotes(p);
    return source + ": has no function " + called + ", but " + all + ": --entry takes the whole name";
  }
  bool deduced = true;
  for (const char* words : {"deduce template", "no instance of function template"})
    deduced &= !says(log, words);
  return source + " does not compile as --entry calls " + called + ": " + message +
         (deduced ? ""
                  : "; the arguments of a template can be given, as in " + in_quotes(plain + "<float>")) +
         " (log: " + log_path + ")";
}

}  // namespace assay
