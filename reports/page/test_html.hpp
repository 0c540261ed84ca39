// SPDX-License-Identifier: Apache-2.0
// For tests of pages: are the tags balanced, does the page need the network, are coordinates numbers?
#pragma once

#include <set>
#include <string>
#include <vector>

namespace assay::test_html {

/// Checks that every start tag has its end tag, in the right order. Browsers are less strict. Returns the
/// first fault, or "".
inline std::string unbalanced(const std::string& html) {
  const std::set<std::string> empty = {"meta", "link", "br", "input", "img", "hr"};
  std::vector<std::string> open;
  for (std::size_t i = html.find('<'); i != std::string::npos; i = html.find('<', i)) {
    if (html.compare(i, 9, "<!DOCTYPE") == 0) {
      i = html.find('>', i);
      continue;
    }
    if (html.compare(i, 4, "<!--") == 0) {
      i = html.find("-->", i);
      continue;
    }
    bool quoted = false;
    std::size_t end = i + 1;
    while (end < html.size() && (quoted || html[end] != '>')) {
      if (html[end] == '"') quoted = !quoted;
      if (!quoted && html[end] == '<') return "'<' inside a tag: " + html.substr(i, 60);
      ++end;
    }
    if (end == html.size()) return "unclosed tag: " + html.substr(i, 60);
    const bool closing = html[i + 1] == '/';
    const std::size_t start = i + 1 + closing;
    const std::string tag = html.substr(start, html.find_first_of(" />\n", start) - start);
    if (tag.empty()) return "stray '<': " + html.substr(i, 60);
    if (closing) {
      if (open.empty() || open.back() != tag)
        return "</" + tag + "> without its start: " + html.substr(i, 60);
      open.pop_back();
    } else if (html[end - 1] != '/' && !empty.contains(tag)) {
      open.push_back(tag);
      if (tag == "script" || tag == "style") end = html.find("</" + tag, end) - 1;
    }
    i = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

inline int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (auto i = text.find(what); i != std::string::npos; i = text.find(what, i + what.size())) ++n;
  return n;
}

/// The coordinates of every path, a line each.
inline std::string paths(const std::string& html) {
  std::string out;
  for (auto i = html.find(" d=\""); i != std::string::npos; i = html.find(" d=\"", i + 1))
    out += html.substr(i + 4, html.find('"', i + 4) - i - 4) + "\n";
  return out;
}

/// The first thing that would use the network, or link to something that neither the page nor `files` has; ""
/// if there is none.
inline std::string foreign_address(std::string html, const std::set<std::string>& files = {}) {
  const std::string name_space = "http://www.w3.org/2000/svg";  // a name, not an address
  for (auto i = html.find(name_space); i != std::string::npos; i = html.find(name_space, i))
    html.erase(i, name_space.size());
  for (const char* word : {"http:", "https:", "src=", "url(", "@import", "//cdn", "fetch(", "XMLHttpRequest"})
    if (html.find(word) != std::string::npos) return word;
  for (auto i = html.find("href=\""); i != std::string::npos; i = html.find("href=\"", i + 1)) {
    const std::string target = html.substr(i + 6, html.find('"', i + 6) - i - 6);
    if (target == "data:," || files.contains(target)) continue;
    if (target[0] != '#' || html.find("id=\"" + target.substr(1) + "\"") == std::string::npos) return target;
  }
  return "";
}

}  // namespace assay::test_html
