// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/refused_calls.hpp"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace assay::isolation {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kProcessor = 0;
#endif

/// Calls that have this bit are those of x32, which have other numbers.
constexpr std::uint32_t kX32 = 0x40000000;
/// The type of a socket without its flags.
constexpr std::uint32_t kSocketType = 0xf;

/// A program that the operating system runs at each call. It has one register.
class Filter {
 public:
  Filter() { load(offsetof(seccomp_data, arch)); }

  void load(std::size_t at) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at)); }
  void load_call() { load(offsetof(seccomp_data, nr)); }
  /// The lower half of an argument: more is not in use of those that are looked at.
  void load_argument(std::size_t n) { load(offsetof(seccomp_data, args) + n * sizeof(std::uint64_t)); }
  void mask(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }

  void allow() { end(SECCOMP_RET_ALLOW); }
  void refuse(std::uint32_t error = EPERM) { end(SECCOMP_RET_ERRNO | error); }
  void refuse_if(std::uint32_t value, std::uint32_t error = EPERM) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse(error);
  }
  void refuse_unless(std::uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    refuse();
  }
  void refuse_if_any_bit(std::uint32_t bits) {
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
    refuse();
  }
  void allow_if(std::uint32_t value) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    allow();
  }
  /// `then` looks at the arguments of this call and ends the program.
  template <class Then>
  void on(std::uint32_t call, Then then) {
    const std::size_t jump = all_.size();
    add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0);
    then();
    all_[jump].jf = static_cast<std::uint8_t>(all_.size() - jump - 1);
  }

  std::vector<sock_filter>& all() { return all_; }

 private:
  void add(int code, std::uint32_t k, std::uint8_t jt = 0, std::uint8_t jf = 0) {
    all_.push_back({static_cast<std::uint16_t>(code), jt, jf, k});
  }
  void end(std::uint32_t what) { add(BPF_RET | BPF_K, what); }

  std::vector<sock_filter> all_;
};

std::vector<sock_filter> filter_for(Uses uses) {
  Filter f;
  // On another processor's numbers (i386 on x86_64) the rules below would look at other calls.
  f.refuse_unless(kProcessor);
  f.load_call();
#if defined(__x86_64__)
  f.refuse_if_any_bit(kX32);
#endif
  // io_uring makes calls that no filter sees. The others are not bound by namespaces, or are a large part of
  // the operating system that no kernel needs.
  for (const int call : {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_bpf,
                         SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key})
    f.refuse_if(static_cast<std::uint32_t>(call));
  // Into processes of the same user. In a process namespace of its own these are the kernel's, and
  // LeakSanitizer stops its own threads with ptrace.
  if (uses == Uses::gpu)
    for (const int call :
         {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd})
      f.refuse_if(static_cast<std::uint32_t>(call));
  // In a user namespace of its own it would have all capabilities. The flags of clone3 lie in memory, which a
  // filter can not read; the C library falls back to clone.
  f.refuse_if(SYS_clone3, ENOSYS);
  for (const int call : {SYS_clone, SYS_unshare})
    f.on(static_cast<std::uint32_t>(call), [&] {
      f.load_argument(0);
      f.refuse_if_any_bit(CLONE_NEWUSER);
      f.allow();
    });
  // The network namespace holds the internet's families only. A Unix socket reaches any program that has a
  // file for it, AF_VSOCK the machine that this virtual one runs on. CUDA does not start without a Unix
  // socket that it can listen on, for other processes that open its memory.
  f.on(SYS_socket, [&] {
    f.load_argument(0);
    for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) f.allow_if(static_cast<std::uint32_t>(family));
    if (uses == Uses::gpu) f.allow_if(AF_UNIX);
    f.refuse();
  });
  // A pair is connected for good, unless it is of datagrams, which can be sent to any other socket.
  if (uses == Uses::host)
    f.on(SYS_socketpair, [&] {
      f.load_argument(0);
      f.refuse_unless(AF_UNIX);
      f.load_argument(1);
      f.mask(kSocketType);
      for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) f.allow_if(static_cast<std::uint32_t>(type));
      f.refuse();
    });
  f.allow();
  return f.all();
}

bool install(const sock_fprog& program, unsigned flags) {
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
}

}  // namespace

bool can_refuse_calls() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return kProcessor != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool refuse_calls(Uses uses) {
  std::vector<sock_filter> all = filter_for(uses);
  const sock_fprog program{static_cast<unsigned short>(all.size()), all.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // Without this flag older systems slow the process down, against attacks by speculation.
  return install(program, SECCOMP_FILTER_FLAG_SPEC_ALLOW) || install(program, 0);
}

}  // namespace assay::isolation
