// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/needed_runtime.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/isolation/shared/runtime_name.hpp"

namespace assay::isolation {
namespace {

/// The bytes of a file of which nothing is trusted.
class Elf {
 public:
  explicit Elf(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat is {};
    if (file >= 0 && fstat(file, &is) == 0 && S_ISREG(is.st_mode) && is.st_size > 0) {
      const auto size = static_cast<std::size_t>(is.st_size);
      if (void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0); at != MAP_FAILED)
        bytes_ = {static_cast<const char*>(at), size};
    }
    if (file >= 0) close(file);
  }
  ~Elf() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  Elf(const Elf&) = delete;
  Elf& operator=(const Elf&) = delete;

  /// The names of the libraries that it needs. Empty if it is no shared object of 64 bits.
  std::vector<std::string> needed() const {
    const auto head = at<Elf64_Ehdr>(0);
    if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64)
      return {};
    std::optional<Elf64_Phdr> dynamic;
    for (unsigned i = 0; i < head->e_phnum; ++i)
      if (const auto p = at<Elf64_Phdr>(head->e_phoff + i * sizeof(Elf64_Phdr)); p && p->p_type == PT_DYNAMIC)
        dynamic = p;
    if (!dynamic) return {};
    std::uint64_t names = 0;
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t done = 0; done < dynamic->p_filesz; done += sizeof(Elf64_Dyn)) {
      const auto d = at<Elf64_Dyn>(dynamic->p_offset + done);
      if (!d || d->d_tag == DT_NULL) break;
      if (d->d_tag == DT_NEEDED) offsets.push_back(d->d_un.d_val);
      if (d->d_tag == DT_STRTAB) names = in_file(*head, d->d_un.d_ptr);
    }
    std::vector<std::string> all;
    for (const std::uint64_t offset : offsets) all.push_back(text(names + offset));
    return all;
  }

 private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
    T t;
    std::memcpy(&t, bytes_.data() + offset, sizeof t);
    return t;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    return std::string(bytes_.data() + offset, strnlen(bytes_.data() + offset, bytes_.size() - offset));
  }
  /// Where in the file an address of the loaded object lies.
  std::uint64_t in_file(const Elf64_Ehdr& head, std::uint64_t address) const {
    for (unsigned i = 0; i < head.e_phnum; ++i)
      if (const auto p = at<Elf64_Phdr>(head.e_phoff + i * sizeof(Elf64_Phdr));
          p && p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
        return address - p->p_vaddr + p->p_offset;
    return bytes_.size();
  }

  std::string_view bytes_;
};

}  // namespace

std::string missing_runtime(const std::string& path) {
  if (dlsym(RTLD_DEFAULT, "__asan_init")) return {};
  for (const std::string& name : Elf(path).needed())
    if (is_runtime_name(name)) return name;
  return {};
}

}  // namespace assay::isolation
