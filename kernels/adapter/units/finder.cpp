// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/finder.hpp"

#include <algorithm>
#include <map>

#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

using SourceTokens = std::vector<SourceToken>;

bool any_of(const SourceToken& t, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), t.spelling) != all.end();
}

/// The index behind the bracket that closes the one at i, or the end if none does.
std::size_t behind(const SourceTokens& t, std::size_t i, std::string_view open, std::string_view close) {
  int depth = 0;
  for (; i < t.size(); ++i) {
    if (t[i].is(open)) ++depth;
    if (t[i].is(close) && --depth == 0) return i + 1;
  }
  return i;
}

/// Appends one token to a declaration, spaced as people write it: "const float* in, int rows".
void append(std::string& text, std::string_view word, bool is_sign) {
  const char last = text.empty() ? '(' : text.back();
  const bool after_word =
      last != '(' && last != ':' && last != '<' && last != '[' && last != '=' && last != '~';
  if (last == ',' || (!is_sign && after_word)) text += ' ';
  text += word;
}
std::string text_of(const SourceTokens& t, std::size_t from, std::size_t to) {
  std::string s;
  for (std::size_t i = from; i < to; ++i) append(s, t[i].spelling, t[i].kind == SourceToken::sign);
  return s;
}

/// A declaration at namespace scope: the tokens t[from, body), before the '{' of its body.
class Head {
 public:
  Head(const SourceTokens& t, std::size_t from, std::size_t body) : t_(t), from_(from), body_(body) {
    if (from < body && t[from].is("template")) from_ = std::min(behind(t, from + 1, "<", ">"), body);
    template_ = {from, from_};
  }

  /// The index of the '(' of the parameters, or of the body if this is no function.
  std::size_t parameters() const {
    for (std::size_t i = from_; i < body_; ++i) {
      if (any_of(t_[i], {"=", "struct", "class", "union", "enum", "operator", "__global__", "__device__",
                         "typedef"}))
        return body_;
      if (!t_[i].is("(")) continue;
      // __launch_bounds__(256) and __attribute__((...)) have parentheses of their own.
      if (i == from_ || (t_[i - 1].kind != SourceToken::word && !t_[i - 1].is(">"))) return body_;
      if (!any_of(t_[i - 1], {"__attribute__", "__launch_bounds__", "__declspec", "alignas"})) return i;
      i = behind(t_, i, "(", ")") - 1;
    }
    return body_;
  }

  /// The function. Its name is empty if the host cannot call it.
  FoundFunction read(const std::string& scope) const {
    FoundFunction f;
    const std::size_t open = parameters();
    if (open == body_ || open < from_ + 2 || t_[open - 1].is("main")) return f;
    const std::size_t close = behind(t_, open, "(", ")");
    if (close > body_) return f;
    // template <> void launch<float>(...): here the name is in front of its arguments.
    std::size_t name = open - 1;
    for (int depth = 0; t_[open - 1].is(">") && name > from_; --name) {
      if (t_[name].is(">")) ++depth;
      if (t_[name].is("<") && --depth == 0) break;
    }
    if (name <= from_) return f;  // template arguments of nothing
    if (t_[name].is("<")) --name;
    // A class member that is defined outside its class cannot be called as a function.
    if (name <= from_ || t_[name].kind != SourceToken::word || t_[name - 1].is("::")) return f;
    const bool special = template_.second == template_.first + 3;  // template <>
    f.name = scope + text_of(t_, name, open);
    f.special = special && !f.name.ends_with('>');
    f.line = t_[name].line;
    const std::string head = text_of(t_, from_, name);
    for (std::size_t i = from_; i < name; ++i) {
      f.internal |=
          any_of(t_[i], {"static", "inline", "__inline__", "__forceinline__", "constexpr", "consteval"});
      f.c_linkage |= t_[i].is("extern") && t_[i + 1].kind == SourceToken::text;
    }
    if (t_[name - 1].kind == SourceToken::word) f.returned = t_[name - 1].spelling;
    if (!special) f.declaration = text_of(t_, template_.first, template_.second);
    if (!f.declaration.empty()) f.declaration += ' ';
    f.declaration += head + " " + f.name + text_of(t_, open, close);
    return f;
  }

 private:
  const SourceTokens& t_;
  std::size_t from_, body_;
  std::pair<std::size_t, std::size_t> template_;
};

/// Nobody nests namespaces deeper than this. What is nested deeper is skipped like a body.
constexpr int kDeepestScope = 32;

/// What is said of all functions of a scope.
struct Scope {
  std::string names;
  bool internal = false, c_linkage = false;
};

/// Reads from the first token of a scope to the '}' that closes it, or to the end. Returns the index behind
/// it.
std::size_t read_scope(const SourceTokens& t, std::size_t i, const Scope& scope, int depth,
                       std::vector<FoundFunction>& all) {
  std::size_t begin = i;  // where the current declaration begins
  while (i < t.size()) {
    if (t[i].is("}")) return i + 1;
    if (t[i].is(";")) {
      begin = ++i;
    } else if (t[i].is("(")) {
      i = behind(t, i, "(", ")");
    } else if (t[i].is("{")) {
      const bool linkage = i == begin + 2 && t[begin].is("extern") && t[begin + 1].kind == SourceToken::text;
      std::size_t space = begin;
      if (space < i && t[space].is("inline")) ++space;
      if (linkage && depth < kDeepestScope) {
        i = read_scope(t, i + 1, {scope.names, scope.internal, true}, depth + 1, all);
      } else if (space < i && t[space].is("namespace") && depth < kDeepestScope) {
        // Members of an unnamed namespace can be named from outside, too.
        const std::string name = text_of(t, space + 1, i);
        i = read_scope(t, i + 1,
                       {scope.names + (name.empty() ? "" : name + "::"), scope.internal || name.empty(),
                        scope.c_linkage},
                       depth + 1, all);
      } else {
        if (FoundFunction f = Head(t, begin, i).read(scope.names); !f.name.empty()) {
          f.internal |= scope.internal;
          f.c_linkage |= scope.c_linkage;
          all.push_back(std::move(f));
        }
        i = behind(t, i, "{", "}");
      }
      begin = i;
    } else {
      ++i;
    }
  }
  return i;
}

/// name<arguments>, split into its parts. Arguments are texts: "float", "256".
struct Named {
  std::string name;
  std::vector<std::string> arguments;
};
Named named(const std::string& entry) {
  Named n;
  std::vector<EntryToken> t = entry_tokens(entry);
  std::size_t i = 0;
  while (i < t.size() && !t[i].is("<")) n.name += t[i++].spelling;
  int depth = 0;
  for (std::size_t begin = i + 1; i < t.size(); ++i) {
    if (t[i].is("<")) ++depth;
    const bool ends = t[i].is(">") && --depth == 0;
    if (!ends && !(t[i].is(",") && depth == 1)) continue;
    n.arguments.push_back(join_tokens(t, begin, i));
    begin = i + 1;
  }
  return n;
}

bool is_declaration(const std::string& entry) { return entry.empty() || entry.find('(') != entry.npos; }

bool has_name(const FoundFunction& f, const std::string& name) {
  return f.name == name || f.name.ends_with("::" + name);
}

/// "<float, 256>"
std::string text_of(const std::vector<std::string>& arguments) {
  std::string s;
  for (const std::string& a : arguments) s += (s.empty() ? "<" : ", ") + a;
  return s + ">";
}

/// The declaration with its template parameters replaced. "template <typename T, int N>" declares T and N.
std::string with_arguments(const FoundFunction& f, const Named& asked) {
  std::vector<EntryToken> t = entry_tokens(f.declaration);
  if (f.special && !asked.arguments.empty()) {
    const std::size_t open = f.declaration.find('(');
    return f.declaration.substr(0, open) + text_of(asked.arguments) + f.declaration.substr(open);
  }
  if (t.empty() || !t[0].is("template")) {
    if (!asked.arguments.empty())
      throw InputError("--entry " + in_quotes(asked.name + "<...>") +
                       ": it is no template: " + in_quotes(f.declaration));
    return f.declaration;
  }
  std::vector<std::string_view> types, parameters;
  std::size_t i = 1;
  for (int depth = 0; i < t.size(); ++i) {
    if (t[i].is("<")) ++depth;
    if (t[i].is(">") && --depth == 0) break;
    // The last word before a comma, a default argument or the end is the parameter's name.
    const bool last =
        depth == 1 && i + 1 < t.size() && (t[i + 1].is(",") || t[i + 1].is("=") || t[i + 1].is(">"));
    if (!last || t[i].kind != EntryToken::word || t[i - 1].is("=")) continue;
    parameters.push_back(t[i].spelling);
    if (t[i - 1].is("typename") || t[i - 1].is("class")) types.push_back(t[i].spelling);
  }
  std::map<std::string_view, std::string> becomes;
  for (std::size_t p = 0; p < std::min(parameters.size(), asked.arguments.size()); ++p)
    becomes[parameters[p]] = asked.arguments[p];
  if (asked.arguments.empty() && parameters.size() == 1 && types.size() == 1) becomes[types[0]] = "T";
  if (becomes.size() < types.size())
    throw InputError("--entry " + in_quotes(asked.name) +
                     ": a template is named with its arguments, as in '" + asked.name +
                     "<float>': " + in_quotes(f.declaration));
  const std::string arguments = asked.arguments.empty() ? "<T>" : text_of(asked.arguments);
  std::string text;
  for (std::size_t j = i + 1; j < t.size(); ++j) {
    const auto at = becomes.find(t[j].spelling);
    const std::string word = at == becomes.end() ? std::string(t[j].spelling) : at->second;
    if (t[j].is("(") && text.find('(') == text.npos) text += arguments;
    append(text, word, t[j].kind == EntryToken::sign);
  }
  return text;
}

}  // namespace

std::vector<FoundFunction> functions_in(std::string_view source) {
  SourceTokens t = source_tokens(source);
  std::erase_if(t, [](const SourceToken& x) {
    return x.kind == SourceToken::blank || x.kind == SourceToken::directive;
  });
  std::vector<FoundFunction> all;
  for (std::size_t i = 0; i < t.size();) i = read_scope(t, i, {}, 0, all);
  return all;
}

namespace {

/// The source has a __global__ function of this name.
bool is_kernel(const std::string& name, std::string_view source) {
  SourceTokens t = source_tokens(source);
  std::erase_if(t, [](const SourceToken& x) { return x.kind == SourceToken::blank; });
  bool global = false;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i].is("__global__")) global = true;
    if (t[i].is("{") || t[i].is(";")) global = false;
    if (global && t[i].is(name) && i + 1 < t.size() && t[i + 1].is("(")) return true;
  }
  return false;
}

}  // namespace

std::string find_entry(const std::string& entry, std::string_view source) {
  if (is_declaration(entry)) return entry;
  const std::vector<FoundFunction> all = functions_in(source);
  const std::string name = named(entry).name;
  if (is_kernel(name, source) &&
      std::none_of(all.begin(), all.end(), [&](const FoundFunction& f) { return has_name(f, name); }))
    throw InputError("--entry " + in_quotes(entry) +
                     ": is a __global__ kernel: name the function that launches it" + name_functions(all));
  return find_entry(entry, all);
}

std::string find_entry(const std::string& entry, const std::vector<FoundFunction>& all) {
  if (is_declaration(entry)) return entry;
  const Named asked = named(entry);
  // A specialisation for exactly these arguments comes before the template.
  const std::string whole = join_tokens(entry_tokens(entry), 0, entry_tokens(entry).size());
  for (const FoundFunction& f : all)
    if (f.name.ends_with('>') && has_name(f, whole)) return f.declaration;
  std::vector<FoundFunction> same;
  std::copy_if(all.begin(), all.end(), std::back_inserter(same),
               [&](const FoundFunction& f) { return has_name(f, asked.name); });
  if (same.empty())
    throw InputError("--entry " + in_quotes(entry) + ": the file defines no such function" +
                     name_functions(all));
  if (same.size() > 1) {
    std::string lines;
    for (const FoundFunction& f : same) lines += (lines.empty() ? "" : ", ") + std::to_string(f.line);
    throw InputError("--entry " + in_quotes(entry) + ": the file has " + std::to_string(same.size()) +
                     " functions of that name (lines " + lines + "): give the declaration of one of them");
  }
  return with_arguments(same[0], asked);
}

std::string name_functions(const std::vector<FoundFunction>& functions) {
  std::string list;
  int n = 0;
  for (const FoundFunction& f : functions) {
    if (f.declaration.find('*') == std::string::npos || ++n > 8) continue;
    list += (list.empty() ? "; its functions: " : ", ") + in_quotes(f.name);
  }
  return list + (n > 8 ? ", ..." : "");
}

}  // namespace assay
