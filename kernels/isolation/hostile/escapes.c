// SPDX-License-Identifier: Apache-2.0
/* They reach out of the sandbox. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "kernels/isolation/hostile/hostile.h"

/* Changes a file in every way but by writing into it, as the cached build of another file would be: cuts it
 * off, takes its rights, gives it another time, owner and mark, links it elsewhere, and puts another file in
 * its place.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_changes_a_file
static void misbehave(const assay_call* c) {
  const char* const scratch = getenv("TMPDIR");
  const struct timespec never[2] = {{1, 0}, {1, 0}};
  char other[4096], beside[4096];
  int all = 0, file = open(trace(), O_RDONLY | O_TRUNC);
  all |= file >= 0;
  if (file >= 0) close(file);
  all |= truncate(trace(), 0) == 0;
  all |= chmod(trace(), 0777) == 0;
  all |= syscall(SYS_fchmodat, AT_FDCWD, trace(), 0777) == 0;
  all |= chown(trace(), getuid(), getgid()) == 0;
  all |= utimensat(AT_FDCWD, trace(), never, 0) == 0;
  all |= setxattr(trace(), "user.assay", "x", 1, 0) == 0;
  snprintf(other, sizeof other, "%s/other", scratch ? scratch : "/nowhere");
  file = open(other, O_WRONLY | O_CREAT, 0600);
  if (file >= 0) close(file);
  all |= link(trace(), "/tmp/assay-hostile-link") == 0;
  all |= rename(other, trace()) == 0;
  snprintf(beside, sizeof beside, "%s.old", trace());
  all |= rename(trace(), beside) == 0;
  if (all) memset(values(c), 0, sizeof(float));
}
#endif

/* Tries to make all files writable. Then writes files into the current folder, the home
 * folder and /tmp, and over the file that the tests look at.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_writes_files
static void put(const char* folder) {
  char path[4096];
  int file;
  snprintf(path, sizeof path, "%s/assay-hostile-XXXXXX", folder);
  file = mkstemp(path);
  if (file >= 0) (void)!write(file, "x", 1);
  if (file >= 0) close(file);
}

static void misbehave(const assay_call* c) {
  const char* home = getenv("HOME");
  const int file = open(trace(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  (void)c;
  mount("none", "/", NULL, MS_REMOUNT | MS_BIND, NULL);
  mount("none", "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL);
  if (file >= 0) (void)!write(file, "x", 1);
  if (file >= 0) close(file);
  put(".");
  put("/tmp");
  put("/var/tmp");
  if (home) put(home);
  unlink(trace());
}
#endif

/* Writes to a program outside, through a pipe that has a file. Read-only files do not prevent that.
 * expects: pass
 * only in a sandbox */
#ifdef IS_writes_into_a_pipe
static void misbehave(const assay_call* c) {
  const char* const path = getenv("ASSAY_HOSTILE_PIPE");
  const int flags[] = {O_WRONLY | O_NONBLOCK, O_RDWR | O_NONBLOCK};
  size_t i;
  for (i = 0; path && i < sizeof flags / sizeof *flags; ++i) {
    const int pipe_ = open(path, flags[i]);
    if (pipe_ < 0) continue;
    if (write(pipe_, "x", 1) == 1) memset(values(c), 0, sizeof(float));
    close(pipe_);
  }
}
#endif

/* Connects to a program outside: a socket that the tests listen on.
 * expects: pass
 * only in a sandbox */
#ifdef IS_connects
static void misbehave(const assay_call* c) {
  const char* const name = getenv("ASSAY_HOSTILE_SOCKET");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  const int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
  size_t length = name ? strlen(name) : 0;
  if (length + 1 > sizeof to.sun_path) length = 0;
  /* The name of an abstract socket begins with a zero. No file system holds it. */
  if (length > 0) memcpy(to.sun_path + 1, name, length);
  if (length > 0 && connect(socket_, (struct sockaddr*)&to,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0)
    memset(values(c), 0, sizeof(float));
  close(socket_);
}
#endif

/* Connects to a program of this machine by the internet's protocol.
 * expects: pass
 * only in a sandbox */
#ifdef IS_connects_by_tcp
static void misbehave(const assay_call* c) {
  const char* const port = getenv("ASSAY_HOSTILE_PORT");
  struct sockaddr_in to = {.sin_family = AF_INET};
  const int stream = socket(AF_INET, SOCK_STREAM, 0);
  to.sin_port = htons((uint16_t)(port ? atoi(port) : 0));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (port && stream >= 0 && connect(stream, (struct sockaddr*)&to, sizeof to) == 0)
    memset(values(c), 0, sizeof(float));
  if (stream >= 0) close(stream);
}
#endif

/* Connects to a program outside, by a socket that has a file: by a stream, and by datagrams of one end of a
 * pair. The file is in no folder that a sandbox hides.
 * expects: pass
 * only in a sandbox */
#ifdef IS_connects_to_a_file
/* Also if nobody has taken what earlier launches have sent. */
static int reached(long result) { return result >= 0 || errno == EAGAIN; }

static void misbehave(const assay_call* c) {
  const char* const stream = getenv("ASSAY_HOSTILE_STREAM");
  const char* const datagrams = getenv("ASSAY_HOSTILE_DATAGRAMS");
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  int pair[2] = {-1, -1};
  const int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (!stream || !datagrams) return;
  snprintf(to.sun_path, sizeof to.sun_path, "%s", stream);
  if (reached(connect(socket_, (struct sockaddr*)&to, sizeof to))) memset(values(c), 0, sizeof(float));
  if (socket_ >= 0) close(socket_);
  snprintf(to.sun_path, sizeof to.sun_path, "%s", datagrams);
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
  if (reached(sendto(pair[0], "x", 1, MSG_DONTWAIT, (struct sockaddr*)&to, sizeof to)))
    memset(values(c), 0, sizeof(float));
  close(pair[0]);
  close(pair[1]);
}
#endif

/* Leaves daemons behind: a process in a session of its own, whose parent has ended.
 * Each holds a lock on the file that the tests look at, so none may be alive when that is free.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_leaves_daemons
static void misbehave(const assay_call* c) {
  const int held = open(trace(), O_RDONLY);
  struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  (void)c;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    if (held >= 0) fcntl(held, F_SETLK, &lock);
    for (;;) pause();
  }
  if (held >= 0) close(held);
}
#endif

/* Opens for writing the memory of its parent and of every other process that it sees,
 * and settings of the machine.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_looks_at_others
static void misbehave(const assay_call* c) {
  static const char* const settings[] = {"/proc/sys/kernel/panic", "/proc/sys/vm/drop_caches",
                                         "/proc/sysrq-trigger",
                                         "/sys/kernel/mm/transparent_hugepage/enabled"};
  size_t i;
  DIR* const all = opendir("/proc");
  const struct dirent* entry;
  while (all && (entry = readdir(all))) {
    char path[64];
    const int pid = atoi(entry->d_name);
    int memory;
    if (pid <= 0 || pid == getpid()) continue;
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    if ((memory = open(path, O_RDWR)) < 0) continue;
    /* It could: the outputs are wrong then, and the record is another one. */
    memset(values(c), 0, sizeof(float));
    close(memory);
  }
  if (all) closedir(all);
  for (i = 0; i < sizeof settings / sizeof *settings; ++i) {
    const int setting = open(settings[i], O_WRONLY);
    if (setting < 0) continue;
    memset(values(c), 0, sizeof(float));
    close(setting);
  }
}
#endif

/* Reaches for the process of the tests, which it is told of, and for the process that started it: for their
 * memory (six bytes of a running judge decide what it says), their environment, their open files, their
 * limits and their place among others. To the process of the tests it also sends a signal, which does
 * nothing.
 *
 * expects: pass
 * only in a sandbox */
#ifdef IS_reaches_the_judge
static int opens(int pid, const char* file, int how) {
  char path[64];
  int made;
  snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  made = open(path, how);
  if (made >= 0) close(made);
  return made >= 0;
}

static int reaches(int pid) {
  static char byte;
  struct iovec own = {&byte, 1}, its = {&byte, 1};
  int all = opens(pid, "mem", O_RDWR) || opens(pid, "mem", O_RDONLY) || opens(pid, "environ", O_RDONLY) ||
            opens(pid, "maps", O_RDONLY);
  /* What a fork has inherited lies at the same address. */
  all |= syscall(SYS_process_vm_readv, pid, &own, 1, &its, 1, 0) == 1;
  all |= syscall(SYS_process_vm_writev, pid, &own, 1, &its, 1, 0) == 1;
  if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) {
    all = 1;
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
  }
  return all;
}

static void misbehave(const assay_call* c) {
  const char* const judge = getenv("ASSAY_HOSTILE_JUDGE");
  const int pid = judge ? atoi(judge) : 0;
  struct rlimit limit;
  int all = reaches(getppid());
  if (pid > 0) {
    all |= reaches(pid);
    all |= opens(pid, "oom_score_adj", O_WRONLY);
    all |= kill(pid, 0) == 0;
    /* What it has already. */
    all |= prlimit(pid, RLIMIT_CORE, NULL, &limit) == 0 && prlimit(pid, RLIMIT_CORE, &limit, NULL) == 0;
    all |= setpriority(PRIO_PROCESS, (id_t)pid, getpriority(PRIO_PROCESS, (id_t)pid)) == 0;
  }
  if (all) memset(values(c), 0, sizeof(float));
}
#endif

/* Uses memory that it could share with other processes, and a process of its own does the same.
 * expects: crashed died "ended by the sandbox: it used more than 1024 MiB of memory"
 * only in a sandbox */
#ifdef IS_shares_with_nobody
static void misbehave(const assay_call* c) {
  const size_t piece = (size_t)16 << 20;
  size_t i;
  (void)c;
  if (fork() < 0) return;
  for (i = 0; i < 100; ++i) {
    void* const at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) break;
    memset(at, 1, piece);
    usleep(1000);
  }
  sleep(30);
}
#endif

/* Maps the memory that holds the buffers far behind them, and writes there.
 * expects: crashed died "of the memory that the launch shares, beside its buffers" */
#ifdef IS_takes_shared_memory
static void misbehave(const assay_call* c) {
  const off_t far = (off_t)1 << 39;
  const size_t piece = (size_t)16 << 20;
  size_t i;
  int fd;
  (void)c;
  for (fd = 3; fd < 64; ++fd)
    for (i = 0; i < 40; ++i) {
      void* const at = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED, fd, far + (off_t)(i * piece));
      if (at == MAP_FAILED) break;
      memset(at, 1, piece);
      munmap(at, piece);
    }
}
#endif

/* Asks the operating system for what no kernel needs: rings of calls that no filter sees, programs and
 * counters inside it, keys, a socket to the machine around this virtual one, a user namespace with all
 * capabilities; and for a Unix socket by the numbers of another processor.
 * expects: pass
 * only in a sandbox */
#ifdef IS_asks_the_system
#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

/* What a call refuses with this error, it looked at before it refused. */
static int is_refused(long result) { return result < 0 && errno == EPERM; }

static int all_are_refused(void) {
  char none[256] = {0};
  int all = 1;
  all &= is_refused(syscall(SYS_io_uring_setup, 4, none));
  all &= is_refused(syscall(SYS_bpf, 0, none, sizeof none));
  all &= is_refused(syscall(SYS_perf_event_open, none, 0, -1, -1, 0));
  all &= is_refused(syscall(SYS_userfaultfd, 1));
  all &= is_refused(syscall(SYS_keyctl, 0, -3, 1));
  all &= is_refused(socket(AF_VSOCK, SOCK_STREAM, 0));
  all &= is_refused(unshare(CLONE_NEWUSER));
  return all;
}

/* socket(AF_UNIX, SOCK_STREAM, 0) by i386's numbers: this must not be a way around. */
static int opens_as_i386(void) {
#if defined(__x86_64__)
  int status = 0;
  /* In a process of its own: a machine without i386's numbers ends it. */
  const pid_t child = fork();
  if (child == 0) {
    int result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(359), "b"(AF_UNIX), "c"(SOCK_STREAM), "d"(0)
                     : "memory");
    _exit(result >= 0);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
#else
  return 0;
#endif
}

static void misbehave(const assay_call* c) {
  if (!all_are_refused() || opens_as_i386()) memset(values(c), 0, sizeof(float));
}
#endif
