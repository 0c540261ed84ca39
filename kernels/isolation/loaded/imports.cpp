// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/loaded/imports.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "reference/text.hpp"

namespace assay::isolation {
namespace {

constexpr std::string_view kUnusual =
    "accept adjtime alarm backtrace bind clock clock_gettime clone connect dl_iterate_phdr dladdr dladdr1 "
    "dlinfo dlmopen dlopen dlsym dlvsym drand48 environ execl execle execlp execv execve execveat execvp "
    "execvpe fdopen fopen fopen64 fork freopen fstat fstatat getauxval getcontext getcwd getdents64 "
    "getegid getentropy getenv geteuid gethostname getpid getppid getrandom getrlimit getrusage gettid "
    "gettimeofday getuid gmtime ioctl kill link listen localtime lrand48 lseek lstat madvise memfd_create "
    "mkdir mkstemp mlock mmap mmap64 mprotect mremap munmap nanosleep open open64 openat openat64 opendir "
    "personality pipe pipe2 popen posix_spawn posix_spawnp prctl pread pread64 process_vm_readv "
    "process_vm_writev ptrace pthread_kill pwrite pwrite64 raise rand rand_r random read readdir readlink "
    "recv recvfrom recvmsg rename sched_getcpu secure_getenv send sendmsg sendto setenv setitimer "
    "setrlimit shm_open shmat sigaction signal sigqueue sleep socket socketpair srand srandom stat statx "
    "symlink syscall sysconf sysinfo system tgkill time timer_create timerfd_create times uname unlink "
    "usleep vfork wait waitid waitpid write";

template <class T>
bool read_at(const std::string& bytes, std::uint64_t at, T& into) {
  if (at > bytes.size() || bytes.size() - at < sizeof into) return false;
  std::memcpy(&into, bytes.data() + at, sizeof into);
  return true;
}

std::string name_at(const std::string& bytes, std::uint64_t at) {
  if (at >= bytes.size()) return {};
  return std::string(bytes.data() + at, strnlen(bytes.data() + at, bytes.size() - at));
}

}  // namespace

std::vector<std::string> unusual_imports(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  Elf64_Ehdr head;
  if (!read_at(bytes, 0, head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  std::set<std::string> found;
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section, names;
    if (!read_at(bytes, head.e_shoff + std::uint64_t{i} * head.e_shentsize, section)) break;
    if (section.sh_type != SHT_DYNSYM ||
        !read_at(bytes, head.e_shoff + std::uint64_t{section.sh_link} * head.e_shentsize, names))
      continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!read_at(bytes, section.sh_offset + at, symbol)) break;
      if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= names.sh_size) continue;
      std::string name = name_at(bytes, names.sh_offset + symbol.st_name);
      if (is_word_of(kUnusual, name)) found.insert(std::move(name));
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace assay::isolation
