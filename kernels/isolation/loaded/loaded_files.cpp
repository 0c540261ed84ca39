// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/loaded/loaded_files.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
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

namespace {

namespace fs = std::filesystem;

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<LoadedFiles>> all;
};
Registry& registry() {
  static Registry one;
  return one;
}

bool begins_with_any(std::string_view path, std::initializer_list<const char*> all) {
  return std::ranges::any_of(all, [&](const char* one) { return path.starts_with(one); });
}

/// No file of a disk.
bool is_no_file(std::string_view path) {
  return path.empty() || path[0] != '/' ||
         begins_with_any(path, {"/dev/", "/proc/", "/sys/", "/memfd:", "/SYSV", "/anon_hugepage", "/[aio]"});
}

/// What compilers at run time keep. Its bytes come from what they compiled.
bool is_cache(std::string_view path) {
  return std::ranges::any_of(std::array{"/.triton/", "/torchinductor_", "/.nv/", "/.cache/", "/.cupy/"},
                             [&](const char* one) { return path.find(one) != path.npos; });
}

std::string hash_of(pid_t worker, const std::string& range, const std::string& path) {
  const std::string process = "/proc/" + std::to_string(worker);
  // The mapped file itself first, then the name as the worker sees it.
  for (const std::string& file : {process + "/map_files/" + range, process + "/root" + path, path}) try {
      std::error_code none;
      if (fs::is_regular_file(file, none)) return sha256_of_file(file);
    } catch (const InputError&) {
    }
  return {};
}

std::string plain_name(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  return name;
}

LoadedFile package_file(const PackagePath& p) {
  LoadedFile f{"package", p.name + " in " + p.folder, {}};
  const std::string wanted = plain_name(p.name.substr(0, p.name.find('.'))) + "-";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(p.folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".dist-info") || !plain_name(name).starts_with(wanted)) continue;
    const std::string version = name.substr(wanted.size(), name.size() - wanted.size() - 10);
    f.path = p.name + " " + version + " in " + p.folder;
    const fs::path record = entry.path() / "RECORD";
    if (fs::is_regular_file(record, none)) f.sha256 = sha256_of_file(record);
  }
  return f;
}

/// The folder that an interpreter keeps its own modules in, as "/usr/lib/python3.11/".
std::string own_modules(pid_t worker) {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/" + std::to_string(worker) + "/exe", none);
  const std::string name = program.filename().string();
  if (!name.starts_with("python")) return {};
  return (program.parent_path().parent_path() / "lib" / name).string() + "/";
}

}  // namespace

bool is_system_path(std::string_view path) {
  return begins_with_any(path, {"/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libexec/", "/usr/share/",
                                "/usr/bin/", "/lib/", "/lib64/", "/bin/", "/etc/", "/usr/local/cuda"});
}

PackagePath package_of(const std::string& path) {
  for (const std::string folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.find(folder);
    if (at == path.npos) continue;
    const std::size_t from = at + folder.size();
    std::string name = path.substr(from, path.find('/', from) - from);
    // The libraries that a wheel brings along: "numpy.libs".
    if (name.ends_with(".libs")) name.erase(name.size() - 5);
    return {name, path.substr(0, from - 1)};
  }
  return {};
}

LoadedFiles& LoadedFiles::of(const std::string& kernel) {
  const std::lock_guard<std::mutex> lock(registry().mutex);
  auto& one = registry().all[kernel];
  if (!one) one.reset(new LoadedFiles(kernel));
  return *one;
}

namespace {
std::atomic<std::int64_t> found_files{0};
}  // namespace

std::int64_t LoadedFiles::found() { return found_files; }

std::map<std::string, std::string> LoadedFiles::of_all() {
  std::map<std::string, std::string> hashes;
  const std::lock_guard<std::mutex> lock(registry().mutex);
  for (const auto& [kernel, one] : registry().all) {
    const std::lock_guard<std::mutex> files(one->mutex_);
    for (const auto& [path, file] : one->files_)
      if (file.role != "package" && !file.sha256.empty()) hashes[file.path] = file.sha256;
  }
  return hashes;
}

std::vector<LoadedFile> LoadedFiles::all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const pid_t worker : workers_) look_locked(worker);
  std::vector<LoadedFile> found;
  for (const auto& [path, file] : files_) found.push_back(file);
  if (runtime_.empty()) return found;
  Sha256 names;
  for (const std::string& path : runtime_) {
    std::error_code none;
    names.add(path + ' ' + std::to_string(fs::file_size(path, none)) + '\n');
  }
  found.push_back({"runtime",
                   std::to_string(runtime_.size()) + " libraries of the system and of the interpreter",
                   names.hex()});
  return found;
}

void LoadedFiles::begin(pid_t worker, bool imported) {
  const std::lock_guard<std::mutex> lock(mutex_);
  workers_.insert(worker);
  if (imported) return look_locked(worker);
  std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (const std::size_t at = line.find('/'); at != line.npos) known_.insert(line.substr(at));
}

void LoadedFiles::look(pid_t worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  look_locked(worker);
}

void LoadedFiles::end(pid_t worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  look_locked(worker);
  workers_.erase(worker);
}

void LoadedFiles::look_locked(pid_t worker) {
  std::ifstream maps("/proc/" + std::to_string(worker) + "/maps");
  std::map<std::string, std::pair<std::string, bool>> fresh;  // path: its range, whether it may be executed
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/'), range = line.find(' ');
    if (at == line.npos || range == line.npos || known_.contains(line.substr(at))) continue;
    auto& [where, executable] = fresh[line.substr(at)];
    if (where.empty()) where = line.substr(0, range);
    executable = executable || line.substr(range + 1, 4).find('x') != line.npos;
  }
  for (const auto& [path, of] : fresh) {
    known_.insert(path);
    add(worker, of.first, path, of.second);
  }
}

void LoadedFiles::add(pid_t worker, const std::string& range, const std::string& path, bool executable) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::string name = path;
  const bool deleted = name.ends_with(kDeleted);
  if (deleted) name.erase(name.size() - kDeleted.size());
  if (is_no_file(name) || is_cache(name) || name == kernel_) return;
  std::error_code none;
  // In a sandbox a worker has folders of its own. What it writes there comes from files that are listed.
  if (!deleted && !fs::exists(name, none)) return;
  if (const PackagePath package = package_of(name); !package.name.empty()) {
    // Without a list of its files a package is so many files.
    const std::string key = package.folder + "/" + package.name;
    if (packages_.insert(key).second)
      if (LoadedFile of = package_file(package); !of.sha256.empty() || is_system_path(name))
        files_.emplace(key, std::move(of));
    if (files_.contains(key)) return;
  }
  const std::string own = own_modules(worker);
  const fs::path program = fs::read_symlink("/proc/" + std::to_string(worker) + "/exe", none);
  if (is_system_path(name) || name == program || (!own.empty() && name.starts_with(own)) ||
      (executable && fs::path(name).filename().string().starts_with("libpython"))) {
    runtime_.insert(name);
    return;
  }
  const std::string role = executable ? "library" : name.ends_with(".py") ? "module" : "data";
  files_.emplace(path, LoadedFile{role, name, hash_of(worker, range, name)});
  ++found_files;
}

}  // namespace assay::isolation
