// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/compile/own_object.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/call_source.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/units/finder.hpp"
#include "kernels/adapter/units/variant_lines.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

// The names that an object file defines and needs, read from the file itself (ELF, 64 bits).

/// Names that other objects of the same link can see.
struct ObjectSymbols {
  std::set<std::string> strong;  // defined here: a second definition elsewhere is an error, or loses
  std::set<std::string> weak;    // defined here: the first of several objects wins
  std::set<std::string> needed;  // not defined here

  bool defines(const std::string& name) const { return strong.contains(name) || weak.contains(name); }
};

/// A struct of the file, or nothing if it would lie beyond the end.
template <class T>
bool take(const std::string& bytes, std::uint64_t at, T& into) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&into, bytes.data() + at, sizeof(T));
  return true;
}

/// Throws InputError if the file is no object file.
ObjectSymbols object_symbols(const std::filesystem::path& object) {
  const std::string bytes = read_text(object);
  const auto refuse = [&]() -> ObjectSymbols {
    throw InputError(object.string() + ": is no object file whose names can be read");
  };
  Elf64_Ehdr head{};
  if (!take(bytes, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr))
    return refuse();
  ObjectSymbols all;
  // The number of sections stands in the first one if there are too many for the head.
  Elf64_Shdr first{};
  if (!take(bytes, head.e_shoff, first)) return refuse();
  const std::uint64_t sections = head.e_shnum != 0 ? head.e_shnum : first.sh_size;
  for (std::uint64_t i = 0; i < sections; ++i) {
    Elf64_Shdr table{}, names{};
    if (!take(bytes, head.e_shoff + i * sizeof table, table)) return refuse();
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_entsize != sizeof(Elf64_Sym) ||
        !take(bytes, head.e_shoff + table.sh_link * sizeof names, names) || names.sh_offset > bytes.size() ||
        names.sh_size > bytes.size() - names.sh_offset)
      return refuse();
    const std::string_view texts(bytes.data() + names.sh_offset, names.sh_size);
    for (std::uint64_t s = 0; s < table.sh_size / sizeof(Elf64_Sym); ++s) {
      Elf64_Sym symbol{};
      if (!take(bytes, table.sh_offset + s * sizeof symbol, symbol) || symbol.st_name >= texts.size())
        return refuse();
      const int binding = ELF64_ST_BIND(symbol.st_info);
      if (binding == STB_LOCAL || symbol.st_name == 0) continue;
      const std::string_view rest = texts.substr(symbol.st_name);
      const std::string name(rest.substr(0, rest.find('\0')));
      const bool weak = binding == STB_WEAK || binding == STB_GNU_UNIQUE;  // the latter: an inline variable
      (symbol.st_shndx == SHN_UNDEF ? all.needed : weak ? all.weak : all.strong).insert(name);
    }
  }
  return all;
}

/// The first name with which `author` would take the place of something that `ours` calls or defines, or that
/// begins with "assay_". Empty if there is none. `allowed`: names that it is to define. It is not the linker
/// that says so, because a weak name would be replaced without a word.
std::string intruding_name(const ObjectSymbols& author, const ObjectSymbols& ours,
                           const std::set<std::string>& allowed) {
  for (const std::set<std::string>* const names : {&author.strong, &author.weak})
    for (const std::string& name : *names) {
      if (allowed.contains(name)) continue;
      // Inline functions and templates of the library are weak in both. Ours comes first in the link and
      // wins.
      const bool same = names == &author.weak && ours.weak.contains(name);
      if (name.starts_with("assay_") || (!same && (ours.defines(name) || ours.needed.contains(name))))
        return name;
    }
  return {};
}

/// The name as C++ writes it, in quotes: "'assay_adapter::registered()'".
std::string quote_symbol(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return in_quotes(status == 0 && text ? text.get() : name.c_str());
}

}  // namespace

namespace fs = std::filesystem;

namespace {

/// True if a declaration in the file says the same as the entry about what a symbol does not hold.
bool same_return(const FoundFunction& f, const EntrySignature& s) {
  const std::string& r = f.returned;
  return s.returned == Returned::nothing   ? r == "void"
         : s.returned == Returned::success ? r == "bool"
                                           : r != "void" && r != "bool" && !r.empty();
}

/// True if the entry is the declaration that stands in the file, parameter for parameter.
bool same_parameters(const OneFile& file, const FoundFunction& f, const EntrySignature& s) {
  try {
    std::vector<EntryArgument> arguments;
    for (const std::string& a : file.args) arguments.push_back(parse_entry_argument(a));
    const EntrySignature own = parse_entry(f.declaration, arguments, s.op, {}, s.causal);
    return std::equal(own.parameters.begin(), own.parameters.end(), s.parameters.begin(), s.parameters.end(),
                      [](const Parameter& a, const Parameter& b) {
                        return a.base == b.base && a.pointers == b.pointers && a.type == b.type;
                      });
  } catch (const InputError&) {
    return false;
  }
}

/// The names among `needed` that can be this function's: its own, or a mangled one.
std::vector<std::string> symbols_of(const std::string& function, const std::set<std::string>& needed) {
  const std::size_t colon = function.rfind(':');
  const std::string last = colon == function.npos ? function : function.substr(colon + 1);
  std::vector<std::string> all;
  for (const std::string& n : needed)
    if (n == last || (n.starts_with("_Z") && n.find(std::to_string(last.size()) + last) != n.npos))
      all.push_back(n);
  return all;
}

/// What the linker is told so that the calls of the prototypes reach the author's object; nothing if it has
/// not all of the functions.
std::optional<std::vector<std::string>> reached(const Units& units, const ObjectSymbols& calls,
                                                const ObjectSymbols& author, const std::string& define,
                                                std::set<std::string>& allowed) {
  std::vector<std::string> words;
  for (const auto& [function, may_be_c] : units.calls) {
    const std::size_t colon = function.rfind(':');
    const std::string last = colon == function.npos ? function : function.substr(colon + 1);
    const std::vector<std::string> names = symbols_of(function, calls.needed);
    if (names.empty()) return {};
    for (const std::string& n : names) {
      if (author.defines(n)) {
        allowed.insert(n);
      } else if (may_be_c && author.defines(last)) {
        words.push_back(define + n + "=" + last);
        allowed.insert(last);
      } else {
        return {};
      }
    }
  }
  return words;
}

/// Compiles one unit to `object`.
void compile_unit(const std::string& source, std::vector<std::string> words, const fs::path& unit,
                  const fs::path& object, const Workplace& at, const fs::path& log) {
  words.insert(words.end(), {"-c", unit.string(), "-o", object.string()});
  compile_step(source, words, at, log);
}

/// The ASSAY_VARIANT lines of the file and of those that it includes: a file may be a list of others.
std::string all_variant_lines(const std::string& source, const std::string& text, const ReadFiles& read) {
  std::string lines;
  std::error_code gone;
  for (const HashedFile& f : read.files) {
    if (fs::equivalent(f.path, source, gone)) continue;
    const std::string included = read_text(f.path);
    if (included.find("ASSAY_VARIANT") == included.npos) continue;
    lines += "#line 1 " + c_string(f.path) + "\n" + variant_lines(included, f.path) + "\n";
  }
  if (!lines.empty()) lines += "#line 1 " + c_string(source) + "\n";
  return lines + variant_lines(text, source);
}

fs::path calls_unit(const Commands& c) { return c.adapter_source.parent_path() / "the_calls.cpp"; }

}  // namespace

Units units_of(const OneFile& file, const std::vector<EntrySignature>& entries, const fs::path& headers,
               const ReadFiles& read) {
  Units u;
  const std::string text = read_text(file.source);
  u.adapter = entries.empty() && !file.host ? "" : adapter_source(adapter_file(file, entries), entries);
  std::multiset<std::string> contents;  // in the order of the hashes: paths differ from machine to machine
  for (const HashedFile& f : read.files) contents.insert(f.sha256);
  std::string all = sha256_of(text) + file.entry;
  for (const std::string& one : contents) all += one;
  u.suffix = "_" + sha256_of(all).substr(0, 16);
  if (entries.empty()) {
    u.exports = {"assay_plugin_entry", "assay_plugin_fault", "assay_plugin_fault_kind"};
    if (includes_variant_header(text)) {
      u.suffix.clear();
      u.why_behind = "it includes assay/variant.h";
      return u;
    }
    u.behind = registration_source(all_variant_lines(file.source, text, read), file.source, headers, u.suffix,
                                   file.host);
    u.why_behind = "its ASSAY_VARIANT lines";
    return u;
  }
  u.behind = call_source(entries, u.suffix);
  const std::vector<FoundFunction> found = functions_in(text);
  for (std::size_t e = 0; e < entries.size() && u.why_behind.empty(); ++e) {
    const EntrySignature& s = entries[e];
    u.exports.insert("assay_call_" + std::to_string(e));
    u.why_behind = no_prototype(s);
    bool any = false, c_linkage = false;
    for (const FoundFunction& f : found) {
      if (f.name != s.function) continue;
      any = true;
      if (f.internal)
        u.why_behind = "a function that is static, inline or in an unnamed namespace";
      else if (!same_return(f, s))
        u.why_behind = "a return type that a symbol does not tell";
      c_linkage = f.c_linkage && same_parameters(file, f, s);
    }
    if (!any && u.why_behind.empty()) u.why_behind = "a function that the file's own text does not define";
    u.calls.emplace_back(s.function, c_linkage);
  }
  for (std::size_t e = 0; e < entries.size(); ++e) u.exports.insert("assay_call_" + std::to_string(e));
  if (u.why_behind.empty()) u.prototypes = prototypes(entries, file.host) + "\n" + call_source(entries, "");
  return u;
}

std::string text_of(const Units& units, const Commands& c) {
  return units.adapter + units.prototypes + units.behind + units.why_behind + command_text(c.author) +
         command_text(c.adapter) + command_text(c.beside) + c.define;
}

std::string build_objects(const OneFile& file, const Units& units, const Commands& c, const Workplace& at,
                          const fs::path& target, const fs::path& log) {
  const fs::path own = target.string() + "_own.o", adapter = target.string() + "_adapter.o",
                 calls = target.string() + "_calls.o";
  const auto beside = [&](const std::string& text, const std::vector<std::string>& words,
                          const fs::path& unit, const fs::path& object) {
    return std::async(text.empty() ? std::launch::deferred : std::launch::async, [=, &at, &file] {
      if (!text.empty()) compile_unit(file.source, words, unit, object, at, object.string() + ".log");
    });
  };
  if (!units.adapter.empty()) write_text(c.adapter_source, units.adapter);
  if (!units.prototypes.empty()) write_text(calls_unit(c), units.prototypes);
  // The adapter does not need to know how the file turns out.
  const auto listed = [&](std::vector<std::string> words, const char* list) {
    words.insert(words.end(), {"-MD", "-MF", (at.scratch / list).string(), "-MT", "made"});
    return words;
  };
  std::future<void> making_adapter =
      beside(units.adapter, listed(c.adapter, kAdapterReads), c.adapter_source, adapter);
  std::future<void> making_calls = beside(units.prototypes, c.adapter, calls_unit(c), calls);

  ObjectSymbols ours;
  const auto add = [&](const fs::path& object) {
    ObjectSymbols one = object_symbols(object);
    ours.strong.merge(one.strong);
    ours.weak.merge(one.weak);
    ours.needed.merge(one.needed);
  };
  std::set<std::string> allowed;
  std::vector<std::string> objects, options;
  std::string way, why = units.why_behind;
  if (why.empty()) {
    compile_unit(file.source, c.author, c.alone, own, at, log);
    making_calls.get();
    const ObjectSymbols called = object_symbols(calls);
    if (const auto words = reached(units, called, object_symbols(own), c.define, allowed)) {
      way = "the file alone, called by its symbol";
      options = *words;
      add(calls);
      objects.push_back(calls.string());
    } else {
      allowed.clear();
      why = "its object has no symbol of the entry";
    }
  }
  if (way.empty() && units.behind.empty()) {
    compile_unit(file.source, c.author, c.alone, own, at, log);
    way = "the file alone, which registers itself";
    allowed = units.exports;
  } else if (way.empty()) {
    write_text(c.with_calls,
               c.first_line + read_text(c.alone) + "\n#line 1 \"the_adapter.cu\"\n" + units.behind);
    std::vector<std::string> words = listed(c.author, kCallsRead);
    words.insert(words.end(), c.beside.begin(), c.beside.end());
    compile_unit(file.source, words, c.with_calls, own, at, log);
    way = "the file alone, with the calls behind it (" + why + ")";
    for (const std::string& name : units.exports) {
      options.push_back(c.define + name + "=" + name + units.suffix);
      allowed.insert(name + units.suffix);
    }
  }
  making_adapter.get();
  if (!units.adapter.empty()) {
    add(adapter);
    objects.push_back(adapter.string());
  }
  for (const std::string& o : c.objects) add(o);
  if (const std::string name = intruding_name(object_symbols(own), ours, allowed); !name.empty())
    throw InputError(file.source + ": defines " + quote_symbol(name) +
                     ", which the adapter calls: with it the file could be right only when it is judged");
  // The first of several weak definitions wins, so the author's come last.
  objects.insert(objects.end(), c.objects.begin(), c.objects.end());
  objects.push_back(own.string());
  std::vector<std::string> words = c.link;
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), objects.begin(), objects.end());
  words.insert(words.end(), c.link_end.begin(), c.link_end.end());
  words.insert(words.end(), {"-o", target.string()});
  compile_step(file.source, words, at, log);
  return way;
}

}  // namespace assay
