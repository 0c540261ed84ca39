// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/object_symbols.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

/// A struct of the file, or nothing if it would lie beyond the end.
template <class T>
bool take(const std::string& bytes, std::uint64_t at, T& into) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&into, bytes.data() + at, sizeof(T));
  return true;
}

}  // namespace

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

std::string quote_symbol(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return quote_entry(status == 0 && text ? text.get() : name.c_str());
}

}  // namespace assay
