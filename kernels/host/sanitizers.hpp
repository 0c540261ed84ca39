// SPDX-License-Identifier: Apache-2.0
// What the sanitizers must be told about fibers and about the memory that the executor hands out. Every
// function is empty in an ordinary build.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(ASSAY_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace assay::sanitizers {

#if defined(ASSAY_TSAN)
inline constexpr bool kThreads = true;
#else
inline constexpr bool kThreads = false;
#endif

inline void forbid([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(p, n);
#endif
}
inline void allow([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(p, n);
#endif
}

/// What happened before release(x) is visible after acquire(x). Barriers and __syncwarp use these edges.
inline void release([[maybe_unused]] void* x) {
#if defined(ASSAY_TSAN)
  __tsan_release(x);
#endif
}
inline void acquire([[maybe_unused]] void* x) {
#if defined(ASSAY_TSAN)
  __tsan_acquire(x);
#endif
}

/// While it lives, ThreadSanitizer ignores this thread's writes. It watches memset even in code that is not
/// instrumented.
struct Unseen {
#if defined(ASSAY_TSAN)
  Unseen() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~Unseen() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
#else
  Unseen() {}
  ~Unseen() {}
#endif
};

/// A stack that the sanitizers know: a fiber's, or the scheduler's own.
struct Stack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* tsan = nullptr;
  void* fake = nullptr;

  void adopt_current_thread() {
#if defined(ASSAY_TSAN)
    tsan = __tsan_get_current_fiber();
#endif
  }
  void create() {
#if defined(ASSAY_TSAN)
    tsan = __tsan_create_fiber(0);
#endif
  }
  void destroy() {
#if defined(ASSAY_TSAN)
    if (tsan) __tsan_destroy_fiber(tsan);
    tsan = nullptr;
#endif
  }
};

/// Call it before the jump, on the stack that is left. To TSan two fibers are two threads, and the switch
/// does not synchronize them: only the edges of release and acquire do.
inline void before_switch([[maybe_unused]] Stack& from, [[maybe_unused]] const Stack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.size);
#endif
#if defined(ASSAY_TSAN)
  __tsan_switch_to_fiber(to.tsan, __tsan_switch_to_fiber_no_sync);
#endif
}
/// The same for a stack that is never entered again.
inline void before_last_switch([[maybe_unused]] const Stack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, to.bottom, to.size);
#endif
#if defined(ASSAY_TSAN)
  __tsan_switch_to_fiber(to.tsan, __tsan_switch_to_fiber_no_sync);
#endif
}
/// Call it after the jump, on the stack that was entered. `from` learns the bounds of the stack that was
/// left.
inline void after_switch([[maybe_unused]] Stack& here, [[maybe_unused]] Stack& from) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(here.fake, &from.bottom, &from.size);
#endif
}

}  // namespace assay::sanitizers
