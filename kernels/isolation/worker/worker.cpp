// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/worker.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/host/block_choice.hpp"
#include "kernels/host/executor.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/spawn.hpp"
#include "kernels/isolation/shared/runtime_name.hpp"
#include "kernels/isolation/worker/loop.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"

namespace assay {
namespace {

// A shared object that was linked with AddressSanitizer needs its runtime as the first library of the
// process.

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

/// The file name of the runtime that the shared object names ("libasan.so.8"), if this process does not have
/// one. Else it is empty, also if the file is no shared object.
std::string missing_runtime(const std::string& path) {
  if (dlsym(RTLD_DEFAULT, "__asan_init")) return {};
  for (const std::string& name : Elf(path).needed())
    if (isolation::is_runtime_name(name)) return name;
  return {};
}

}  // namespace

namespace isolation {
namespace {

/// The registered kernels with a key's name.
class RegisteredKernels : public WorkerKernels {
 public:
  explicit RegisteredKernels(std::vector<const Variant*> all) : all_(std::move(all)) {}
  std::size_t size() const override { return all_.size(); }
  /// Never called: the supervisor has the same kernels linked in.
  Described describe(std::size_t) const override { return {}; }
  std::uint64_t workspace_bytes(std::size_t entry, const Problem& problem, int) const override {
    const Variant& v = *all_[entry];
    return v.workspace_bytes ? v.workspace_bytes(problem) : 0;
  }
  Said run(const Launch& r, int, const std::array<void*, kBuffers>& at, void* stream, int) const override {
    const Variant& v = *all_[r.entry];
    const Buffers b{at[0],
                    at[1],
                    at[2],
                    static_cast<float*>(at[3]),
                    static_cast<float*>(at[4]),
                    at[5],
                    at[6],
                    at[7],
                    at[8],
                    static_cast<const float*>(at[9]),
                    at[10]};
    if (r.on_device) {
      v.run(r.problem, b, Stream{stream, r.max_blocks});
      return {};
    }
    const LaunchOutcome outcome = call_on_host(v, r.problem, b, r.schedule, r.max_blocks);
    return {outcome.fault, outcome.kind};
  }
  bool on_device() const override { return all_.front()->backend == Backend::cuda; }
  bool foreign() const override { return false; }
  bool chooses() const override { return true; }
  bool take_turns(void (*turn)(int)) const override {
    executor::take_turns(turn);
    return true;
  }
  void prepare(const Launch& r) const override {
    executor::choose_blocks(
        executor::owners_of({r.chosen.rows, r.chosen.rows + r.chosen.count}, r.chosen.per_block));
  }
  std::uint64_t dispatch() const override { return executor::dispatch(); }

 private:
  std::vector<const Variant*> all_;
};

std::unique_ptr<WorkerKernels> open_kernels(const Load& request, Loaded& loaded) {
  const std::string name = request.name.get();
  if (request.plugin) {
    if (const std::string runtime = missing_runtime(name); !runtime.empty()) {
      loaded.runtime.set(runtime);
      return nullptr;
    }
    auto library = std::make_unique<PluginLibrary>();
    loaded.error.set(library->open(name));
    return library;
  }
  std::vector<const Variant*> all = same_kernel(name);
  if (all.empty()) loaded.error.set(name + ": this worker has no such key");
  return std::make_unique<RegisteredKernels>(std::move(all));
}

}  // namespace
}  // namespace isolation

bool is_worker_call(int argc, const char* const* argv) {
  isolation::has_worker_verb = true;
  return argc > 1 && std::string_view(argv[1]) == "worker";
}

int run_worker(int argc, const char* const* argv) {
  using namespace isolation;
  if (argc > 2 && std::string_view(argv[2]) == "warden") {
    guard_worker(argv + 3);
    return serve(open_kernels);
  }
  if (argc > 2 && std::string_view(argv[2]) == "program") become_program(argv + 3);
  if (argc != 3 || std::string(argv[2]) != std::to_string(kSocket)) {
    std::fprintf(stderr, "assay: worker: is started by assay itself\n");
    return 2;
  }
  return serve(open_kernels);
}

}  // namespace assay
