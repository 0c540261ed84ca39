// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/heap.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

// A sanitizer replaces these functions itself. In an interpreter's worker they belong to the interpreter.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ASSAY_HEAP_OF_ANOTHER)
#define ASSAY_GUARDS_HEAP
#endif

#ifdef ASSAY_GUARDS_HEAP
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
// The heap of AddressSanitizer, if its runtime was loaded first. It has guards of its own, and what its other
// functions allocate must be freed by it. Else these are null.
[[gnu::weak]] void* __interceptor_malloc(size_t);
[[gnu::weak]] void* __interceptor_calloc(size_t, size_t);
[[gnu::weak]] void* __interceptor_realloc(void*, size_t);
[[gnu::weak]] void* __interceptor_memalign(size_t, size_t);
[[gnu::weak]] void __interceptor_free(void*);
}
#endif

namespace assay::isolation {
namespace {

constexpr std::size_t kHeapGuard = 64;
constexpr unsigned char kHeapPattern = 0xb5;

struct Block {
  unsigned char* at = nullptr;  // what the kernel was given
  std::size_t bytes = 0;
  std::size_t front = 0;  // bytes in front of it that are ours
};

std::atomic<int> heap_watches{0};
std::atomic<bool> guards_exist{false};  // a block may be in the table

/// The guarded blocks: a table with open addressing, in pages of its own, because it may not allocate. One
/// lock: kernels on the host allocate little.
class Table {
 public:
  bool put(const Block& b) {
    const Lock lock(mutex_);
    if (2 * (used_ + 1) > size_ && !grow()) return false;
    insert(b);
    guards_exist = true;
    return true;
  }
  /// Takes a block out. Its `at` is null if there is none.
  Block take(void* p) {
    const Lock lock(mutex_);
    Block found;
    if (size_ == 0) return found;
    for (std::size_t i = slot(p);; i = (i + 1) & (size_ - 1)) {
      if (!all_[i].at) return found;
      if (all_[i].at != p) continue;
      found = all_[i];
      remove(i);
      look(found);
      return found;
    }
  }
  std::size_t size_of(void* p) {
    const Lock lock(mutex_);
    if (size_ == 0) return SIZE_MAX;
    for (std::size_t i = slot(p); all_[i].at; i = (i + 1) & (size_ - 1))
      if (all_[i].at == p) return all_[i].bytes;
    return SIZE_MAX;
  }
  /// Around a fork: the child has only the thread that called it, and another could have held the lock.
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  /// The first block whose guards were written, and on which side, since the last call.
  bool overrun(std::size_t& bytes, bool& before) {
    const Lock lock(mutex_);
    for (std::size_t i = 0; i < size_; ++i)
      if (all_[i].at) look(all_[i]);
    bytes = bytes_;
    before = before_;
    const bool found = found_;
    found_ = false;
    return found;
  }

 private:
  class Lock {
   public:
    explicit Lock(pthread_mutex_t& m) : m_(m) { pthread_mutex_lock(&m_); }
    ~Lock() { pthread_mutex_unlock(&m_); }

   private:
    pthread_mutex_t& m_;
  };

  std::size_t slot(const void* p) const {
    return (reinterpret_cast<std::uintptr_t>(p) >> 4) * 0x9e3779b97f4a7c15u >> 20 & (size_ - 1);
  }
  void insert(const Block& b) {
    std::size_t i = slot(b.at);
    while (all_[i].at) i = (i + 1) & (size_ - 1);
    all_[i] = b;
    ++used_;
  }
  void remove(std::size_t i) {
    --used_;
    all_[i] = {};
    // Those behind it may have been pushed there by it.
    for (i = (i + 1) & (size_ - 1); all_[i].at; i = (i + 1) & (size_ - 1)) {
      const Block b = all_[i];
      all_[i] = {};
      --used_;
      insert(b);
    }
  }
  bool grow() {
    const std::size_t size = size_ == 0 ? 4096 : 2 * size_;
    void* const p =
        mmap(nullptr, size * sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    Block* const old = all_;
    const std::size_t many = size_;
    all_ = static_cast<Block*>(p);
    size_ = size;
    used_ = 0;
    for (std::size_t i = 0; i < many; ++i)
      if (old[i].at) insert(old[i]);
    if (old) munmap(old, many * sizeof(Block));
    return true;
  }
  static bool intact(unsigned char* from, std::size_t bytes) {
    return std::all_of(from, from + bytes, [](unsigned char c) { return c == kHeapPattern; });
  }
  /// Each overrun is told once.
  void look(const Block& b) {
    const bool front = intact(b.at - kHeapGuard, kHeapGuard), back = intact(b.at + b.bytes, kHeapGuard);
    if (front && back) return;
    std::memset(b.at - kHeapGuard, kHeapPattern, kHeapGuard);
    std::memset(b.at + b.bytes, kHeapPattern, kHeapGuard);
    if (found_) return;
    found_ = true;
    bytes_ = b.bytes;
    before_ = !front;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Block* all_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  bool found_ = false, before_ = false;
  std::size_t bytes_ = 0;
};

constinit Table guarded_blocks;

#ifdef ASSAY_GUARDS_HEAP

/// `alignment`: a power of two; 0: that of malloc. Null if there is no memory.
void* allocated(std::size_t bytes, std::size_t alignment, bool zeros) {
  if (__interceptor_malloc) {
    if (zeros) return __interceptor_calloc(1, bytes);
    return alignment == 0 ? __interceptor_malloc(bytes) : __interceptor_memalign(alignment, bytes);
  }
  const bool guarded = heap_watches > 0 && bytes < SIZE_MAX / 2;
  if (!guarded) {
    if (zeros) return __libc_calloc(1, bytes);
    return alignment == 0 ? __libc_malloc(bytes) : __libc_memalign(alignment, bytes);
  }
  const std::size_t front = std::max(kHeapGuard, alignment);
  const std::size_t whole = front + bytes + kHeapGuard;
  // The C library's calloc does not touch pages that are zero already.
  auto* const base = static_cast<unsigned char*>(zeros            ? __libc_calloc(1, whole)
                                                 : alignment == 0 ? __libc_malloc(whole)
                                                                  : __libc_memalign(alignment, whole));
  if (!base) return nullptr;
  const Block b{base + front, bytes, front};
  std::memset(b.at - kHeapGuard, kHeapPattern, kHeapGuard);
  std::memset(b.at + bytes, kHeapPattern, kHeapGuard);
  if (guarded_blocks.put(b)) return b.at;
  __libc_free(base);
  return nullptr;
}

void released(void* p) {
  if (__interceptor_malloc) return __interceptor_free(p);
  const Block b = p && guards_exist ? guarded_blocks.take(p) : Block();
  __libc_free(b.at ? b.at - b.front : p);
}

bool power_of_two(std::size_t n) { return n != 0 && (n & (n - 1)) == 0; }

#endif

}  // namespace

HeapWatch::HeapWatch(bool wanted) : wanted_(wanted) {
  if (!wanted_) return;
  static const int registered = pthread_atfork([] { guarded_blocks.lock(); }, [] { guarded_blocks.unlock(); },
                                               [] { guarded_blocks.unlock(); });
  static_cast<void>(registered);
  ++heap_watches;
}
HeapWatch::~HeapWatch() {
  if (wanted_) --heap_watches;
}

std::string HeapWatch::overrun() {
  std::size_t bytes = 0;
  bool before = false;
  if (!guards_exist || !guarded_blocks.overrun(bytes, before)) return {};
  return std::string("memory was written ") + (before ? "before" : "past") + " the " + std::to_string(bytes) +
         " bytes that malloc or new gave";
}

}  // namespace assay::isolation

#ifdef ASSAY_GUARDS_HEAP
// The C library allows a program to replace all of these together. `new` and `delete` call them.
extern "C" {
using namespace assay::isolation;

void* malloc(size_t bytes) { return allocated(bytes, 0, false); }
void free(void* p) {
  const int kept = errno;
  released(p);
  errno = kept;
}
void* calloc(size_t n, size_t each) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(n, each, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocated(bytes, 0, true);
}
void* realloc(void* p, size_t bytes) {
  if (__interceptor_malloc) return __interceptor_realloc(p, bytes);
  const size_t had = p && guards_exist ? guarded_blocks.size_of(p) : SIZE_MAX;
  if (had == SIZE_MAX && (p || heap_watches == 0)) return __libc_realloc(p, bytes);
  if (p && bytes == 0) {
    released(p);
    return nullptr;
  }
  void* const made = allocated(bytes, 0, false);
  if (!made || !p) return made;
  std::memcpy(made, p, std::min(had, bytes));
  released(p);
  return made;
}
void* memalign(size_t alignment, size_t bytes) { return allocated(bytes, alignment, false); }
void* aligned_alloc(size_t alignment, size_t bytes) {
  if (power_of_two(alignment)) return allocated(bytes, alignment, false);
  errno = EINVAL;
  return nullptr;
}
int posix_memalign(void** made, size_t alignment, size_t bytes) {
  if (!power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* const p = allocated(bytes, alignment, false);
  if (!p) return ENOMEM;
  *made = p;
  return 0;
}
void* valloc(size_t bytes) { return allocated(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)), false); }
size_t malloc_usable_size(void* p) {
  static const auto own = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  const size_t guarded = p && guards_exist ? guarded_blocks.size_of(p) : SIZE_MAX;
  return guarded != SIZE_MAX ? guarded : own ? own(p) : 0;
}
void* pvalloc(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return allocated((bytes + page - 1) / page * page, page, false);
}
}
#endif
