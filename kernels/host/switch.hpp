// SPDX-License-Identifier: Apache-2.0
// The switch from one stack to another. A kernel's threads switch at every barrier and shuffle, so a report
// spends much of its time here.
//
// On x86-64 the switch is a few instructions of ours. It saves the stack pointer, the frame pointer and the
// place to go on; the compiler saves whatever other register it still needs. Boost.Context also saves and
// loads the control words of the floating-point units, which took three quarters of its time. No kernel
// changes them.
// Other processors, builds with a sanitizer, and builds with a shadow stack (-fcf-protection) use
// Boost.Context.
#pragma once

#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/host/sanitizers.hpp"

#if defined(__x86_64__) && !defined(__ILP32__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(ASSAY_TSAN) && !defined(__CET__)
#define ASSAY_OWN_SWITCH 1
#else
#define ASSAY_OWN_SWITCH 0
#include <boost/context/fiber.hpp>
#endif

namespace assay::executor {

#if defined(__SANITIZE_ADDRESS__) || defined(ASSAY_TSAN)
inline constexpr std::size_t kStack = 512 * 1024;
#else
inline constexpr std::size_t kStack = 96 * 1024;
#endif

/// A fiber's memory. The fiber never leaves its outermost frames, so AddressSanitizer still has them
/// poisoned. The poison is removed before munmap: after it the address may become another OS thread's stack.
struct StackMemory : boost::context::protected_fixedsize_stack {
  StackMemory() : basic_protected_fixedsize_stack(kStack) {}
  void deallocate(boost::context::stack_context& memory) noexcept {
    sanitizers::allow(static_cast<const char*>(memory.sp) - memory.size, memory.size);
    basic_protected_fixedsize_stack::deallocate(memory);
  }
};

class SwitchTarget;
/// What a fiber runs. The first switch to the fiber calls it, with the fiber's own target. It returns when
/// the fiber is never entered again, and says which target goes on.
using FiberBody = SwitchTarget* (*)(SwitchTarget* self);

#if ASSAY_OWN_SWITCH

/// Something that can be switched to: the fiber of a CUDA thread, or the scheduler on the OS thread's own
/// stack.
class SwitchTarget {
 public:
  /// True if the body of every fiber must have returned before its stack is given back.
  static constexpr bool kMustEnd = false;

  SwitchTarget() = default;
  SwitchTarget(const SwitchTarget&) = delete;
  SwitchTarget& operator=(const SwitchTarget&) = delete;
  ~SwitchTarget() {
    if (memory_.sp) StackMemory().deallocate(memory_);
  }

  void adopt_current_thread() {}

  /// Makes a fiber whose outermost frame lies `colour` bytes below the top of its stack.
  void make(std::size_t colour, FiberBody body) {
    memory_ = StackMemory().allocate();
    // A called function finds its caller's address at a multiple of 16 bytes, less 8.
    auto* const caller = static_cast<char*>(memory_.sp) - colour / 16 * 16 - 8;
    *reinterpret_cast<std::uint64_t*>(caller) = 0;  // there is none: a stack trace ends here
    stack_pointer_ = caller;
    go_on_ = reinterpret_cast<void*>(body);
  }

  /// Leaves `from` and continues with `to`. Returns when somebody switches back to `from`.
  static void between(SwitchTarget& from, SwitchTarget& to) {
    // %0 is the register of a function's first argument: a body that begins finds its own target there.
    void *enter = &to, *leave = &from;
    asm volatile(
        "leaq 1f(%%rip), %%rax\n\t"
        "movq %%rsp, (%1)\n\t"
        "movq %%rbp, 8(%1)\n\t"
        "movq %%rax, 16(%1)\n\t"
        "movq (%0), %%rsp\n\t"
        "movq 8(%0), %%rbp\n\t"
        "jmp *16(%0)\n"
        "1:"
        : "+D"(enter), "+S"(leave)
        :
        : "memory", "cc", "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
          "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15"
#if defined(__AVX512F__)
          ,
          "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
          "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#endif
    );
  }

 private:
  // The switch finds these three by their offsets: 0, 8 and 16 bytes.
  void* stack_pointer_ = nullptr;
  void* frame_pointer_ = nullptr;
  void* go_on_ = nullptr;
  boost::context::stack_context memory_;
};

#else

/// As above, by Boost.Context. The sanitizers learn of every switch.
class SwitchTarget {
 public:
  static constexpr bool kMustEnd = true;

  SwitchTarget() = default;
  SwitchTarget(const SwitchTarget&) = delete;
  SwitchTarget& operator=(const SwitchTarget&) = delete;
  ~SwitchTarget() {
    if (made_) stack_.destroy();
  }

  void adopt_current_thread() { stack_.adopt_current_thread(); }

  void make(std::size_t colour, FiberBody body) {
    made_ = true;
    stack_.create();
    StackMemory allocator;
    const boost::context::stack_context memory = allocator.allocate();
    stack_.bottom = static_cast<const char*>(memory.sp) - memory.size;
    stack_.size = memory.size;
    const boost::context::preallocated place(static_cast<char*>(memory.sp) - colour, memory.size - colour,
                                             memory);
    fiber_ = boost::context::fiber(std::allocator_arg, place, allocator,
                                   [this, body](boost::context::fiber&& left) {
                                     sanitizers::after_switch(stack_, from_->stack_);
                                     from_->fiber_ = std::move(left);
                                     SwitchTarget& next = *body(this);
                                     next.from_ = this;
                                     sanitizers::before_last_switch(next.stack_);
                                     return std::move(next.fiber_);
                                   });
  }

  static void between(SwitchTarget& from, SwitchTarget& to) {
    to.from_ = &from;
    sanitizers::before_switch(from.stack_, to.stack_);
    boost::context::fiber left = std::move(to.fiber_).resume();
    sanitizers::after_switch(from.stack_, from.from_->stack_);
    from.from_->fiber_ = std::move(left);
  }

 private:
  boost::context::fiber fiber_;  // where it continues while it is suspended
  sanitizers::Stack stack_;
  bool made_ = false;             // the stack is a fiber's, not the OS thread's
  SwitchTarget* from_ = nullptr;  // who switched here last
};

#endif

}  // namespace assay::executor
