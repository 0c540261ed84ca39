// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernels/isolation/shared/confinement.hpp"

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
  /// For the rest of what looks at an argument: only this value is allowed.
  void allow_only(std::uint32_t value) {
    allow_if(value);
    refuse();
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

/// Refuses `calls`, whatever their arguments.
void refuse_all(Filter& f, std::initializer_list<int> calls) {
  for (const int call : calls) f.refuse_if(static_cast<std::uint32_t>(call));
}

/// Refuses a call if an argument is not `value`.
void refuse_others(Filter& f, int call, std::size_t argument, std::uint32_t value) {
  f.on(static_cast<std::uint32_t>(call), [&] {
    f.load_argument(argument);
    f.allow_only(value);
  });
}

/// What a process can do to another one of its user, which no namespace hides from it. Landlock refuses the
/// memory, the descriptors and the places of other processes (ptrace), and signals from kFirstWithScopes on.
void refuse_to_reach_processes(Filter& f, Uses uses, int landlock) {
  // Limits, priorities and processors: of this process or of the thread that calls, which have the name 0.
  for (const int call : {SYS_prlimit64, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr})
    refuse_others(f, call, 0, 0);
  // Libraries that use a GPU give their threads processors, and name the threads.
  if (uses == Uses::host) refuse_others(f, SYS_sched_setaffinity, 0, 0);
  refuse_others(f, SYS_setpriority, 1, 0);
  refuse_others(f, SYS_ioprio_set, 1, 0);
  if (landlock >= kFirstWithScopes) return;
  // Signals to this process only. What it has forked has another name, and sends none.
  const auto own = static_cast<std::uint32_t>(getpid());
  for (const int call : {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo})
    refuse_others(f, call, 0, own);
  refuse_all(f, {SYS_pidfd_send_signal});
  // A file can send signals to its owner.
  f.on(SYS_fcntl, [&] {
    f.load_argument(1);
    for (const int command : {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY})
      f.refuse_if(static_cast<std::uint32_t>(command));
    f.allow();
  });
}

/// What Landlock leaves open of files: who may do what with them, their times and marks, and, in its first
/// versions, to cut them off.
void refuse_to_change_files(Filter& f, const Alone& alone) {
  const int landlock = alone.landlock;
  if (!alone.changes_rights) {
#if defined(__x86_64__)
    refuse_all(f, {SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat});
#endif
    refuse_all(f, {SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
                   SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr});
    // fchmodat2, setxattrat, removexattrat, file_setattr: the headers may be older than the system.
    refuse_all(f, {452, 463, 466, 469});
  }
  // Marks of files, and input for a terminal.
  f.on(SYS_ioctl, [&] {
    f.load_argument(1);
    for (const unsigned long command : {FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS, FS_IOC_FSSETXATTR,
                                        FS_IOC_SETVERSION, FS_IOC32_SETVERSION, FS_IOC_SET_ENCRYPTION_POLICY})
      f.refuse_if(static_cast<std::uint32_t>(command));
    for (const unsigned long command : {TIOCSTI, TIOCLINUX}) f.refuse_if(static_cast<std::uint32_t>(command));
    if (landlock < kFirstWithScopes)
      for (const unsigned long command : {0x8901ul, 0x8902ul})  // FIOSETOWN, SIOCSPGRP
        f.refuse_if(static_cast<std::uint32_t>(command));
    f.allow();
  });
  if (landlock >= kFirstWithTruncate) return;
  refuse_all(f, {SYS_truncate});
  f.refuse_if(SYS_openat2, ENOSYS);  // its flags lie in memory, which a filter can not read
  const auto keep_length = [&](int call, std::size_t flags) {
    f.on(static_cast<std::uint32_t>(call), [&] {
      f.load_argument(flags);
      f.mask(O_TRUNC | O_ACCMODE);
      f.refuse_if(O_TRUNC | O_RDONLY);  // a file opened for writing is looked at by Landlock
      f.allow();
    });
  };
#if defined(__x86_64__)
  keep_length(SYS_open, 1);
#endif
  keep_length(SYS_openat, 2);
}

/// Sockets. CUDA does not start without a Unix socket that it can listen on, for other processes that open
/// its memory; it connects to none but that of a server of its own (MPS), and goes on where there is none.
void refuse_sockets(Filter& f, Uses uses, bool alone) {
  if (uses == Uses::gpu) f.refuse_if(SYS_connect, ENOENT);
  f.on(SYS_socket, [&] {
    f.load_argument(0);
    // The network namespace holds the internet's families only. A Unix socket reaches any program that has a
    // file for it, AF_VSOCK the machine that this virtual one runs on.
    if (!alone)
      for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) f.allow_if(static_cast<std::uint32_t>(family));
    if (uses == Uses::host) return f.refuse();
    f.refuse_unless(AF_UNIX);
    f.load_argument(1);
    f.mask(kSocketType);
    // A socket of datagrams sends to any other one without connecting.
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) f.allow_if(static_cast<std::uint32_t>(type));
    f.refuse();
  });
  // A pair is connected for good, unless it is of datagrams.
  f.on(SYS_socketpair, [&] {
    f.load_argument(0);
    f.refuse_unless(AF_UNIX);
    f.load_argument(1);
    f.mask(kSocketType);
    for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) f.allow_if(static_cast<std::uint32_t>(type));
    f.refuse();
  });
}

std::vector<sock_filter> filter_for(Uses uses, std::optional<Alone> alone) {
  Filter f;
  // On another processor's numbers (i386 on x86_64) the rules below would look at other calls.
  f.refuse_unless(kProcessor);
  f.load_call();
#if defined(__x86_64__)
  f.refuse_if_any_bit(kX32);
#endif
  // io_uring makes calls that no filter sees. The others are not bound by namespaces, or are a large part of
  // the operating system that no kernel needs.
  refuse_all(f, {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_bpf, SYS_perf_event_open,
                 SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key});
  // Into processes of the same user. In a process namespace of its own these are the kernel's, and
  // LeakSanitizer stops its own threads with ptrace.
  if (uses == Uses::gpu || alone)
    refuse_all(f, {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd});
  // Memory and messages that all processes of a user share.
  if (alone)
    refuse_all(f, {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
                   SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink});
  // In a user namespace of its own it would have all capabilities. The flags of clone3 lie in memory, which a
  // filter can not read; the C library falls back to clone.
  f.refuse_if(SYS_clone3, ENOSYS);
  for (const int call : {SYS_clone, SYS_unshare})
    f.on(static_cast<std::uint32_t>(call), [&] {
      f.load_argument(0);
      f.refuse_if_any_bit(CLONE_NEWUSER);
      f.allow();
    });
  // With a GPU the processes of the machine are in the same namespace, and Landlock holds what signals it
  // can.
  if (alone || uses == Uses::gpu)
    refuse_to_reach_processes(f, uses, alone ? alone->landlock : kFirstWithScopes);
  // A lease keeps others from opening the file, up to 45 s.
  f.on(SYS_fcntl, [&] {
    f.load_argument(1);
    for (const int command : {F_SETLEASE, F_NOTIFY}) f.refuse_if(static_cast<std::uint32_t>(command));
    f.allow();
  });
  if (alone) refuse_to_change_files(f, *alone);
  refuse_sockets(f, uses, alone.has_value());
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

bool refuse_calls(Uses uses, std::optional<Alone> alone) {
  std::vector<sock_filter> all = filter_for(uses, alone);
  const sock_fprog program{static_cast<unsigned short>(all.size()), all.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // Without this flag older systems slow the process down, against attacks by speculation.
  return install(program, SECCOMP_FILTER_FLAG_SPEC_ALLOW) || install(program, 0);
}

}  // namespace assay::isolation
