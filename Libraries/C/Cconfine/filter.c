#define _GNU_SOURCE
#include "Cconfine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filter knows x86_64 and aarch64"
#endif

// Headers may be older than the kernel.
enum { spec_allow = 1 << 2, name_memory = 0x53564d41 };

/// What the engine, libc and the language's runtime call once they are started, as strace shows it, and their next of kin. The most
/// frequent first.
static const int allowed[] = {
    // Time, waiting, and the socket to the parent.
    __NR_clock_gettime, __NR_futex, __NR_madvise, __NR_ppoll, __NR_read, __NR_write, __NR_sched_yield, __NR_pread64,
#ifdef __x86_64__
    __NR_poll, __NR_time, __NR_arch_prctl,
#endif
    __NR_close, __NR_clock_nanosleep, __NR_nanosleep, __NR_clock_getres, __NR_gettimeofday, __NR_restart_syscall,
    __NR_readv, __NR_writev, __NR_recvfrom, __NR_eventfd2, __NR_pipe2, __NR_lseek, __NR_fstat,
    // Memory, also such as is executed: the engine translates scripts.
    __NR_mmap, __NR_munmap, __NR_mprotect, __NR_mremap, __NR_brk, __NR_mincore, __NR_membarrier,
    // Threads, and the signals by which the collector stops them.
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_rt_sigsuspend, __NR_rt_sigtimedwait,
    __NR_sigaltstack, __NR_set_robust_list, __NR_rseq, __NR_gettid, __NR_getpid, __NR_exit, __NR_exit_group,
    __NR_sched_getaffinity, __NR_sched_getparam, __NR_sched_getscheduler, __NR_getcpu,
    // What tells something about the process.
    __NR_getrandom, __NR_getrusage, __NR_sysinfo, __NR_uname, __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid,
    __NR_getppid, __NR_times,
};

struct program {
  unsigned short count;
  struct sock_filter code[256];
};

static void put(struct program *program, unsigned short code, unsigned char yes, unsigned char no, unsigned value) {
  program->code[program->count++] = (struct sock_filter){code, yes, no, value};
}

static void load(struct program *program, size_t place) { put(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, place); }

static void answer(struct program *program, unsigned what) { put(program, BPF_RET | BPF_K, 0, 0, what); }

static void refuse(struct program *program) { answer(program, SECCOMP_RET_ERRNO | EPERM); }

/// Goes on with the next instruction when the loaded value is this one, otherwise behind it.
static void if_equal(struct program *program, unsigned value) {
  put(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
}

/// The rules for one call begin here and go to `end_call`; they must end in an answer.
static unsigned short begin_call(struct program *program, int number) {
  put(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number);
  return program->count - 1;
}

static void end_call(struct program *program, unsigned short begin) {
  program->code[begin].jf = program->count - begin - 1;
}

/// Loads the low half of an argument; both machines have it first.
static void load_argument(struct program *program, int number) {
  load(program, offsetof(struct seccomp_data, args) + 8 * number);
}

static void need_equal(struct program *program, unsigned value) {
  put(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
  refuse(program);
}

static void need_null(struct program *program, int argument) {
  load_argument(program, argument);
  need_equal(program, 0);
  load(program, offsetof(struct seccomp_data, args) + 8 * argument + 4);
  need_equal(program, 0);
}

static void write_program(struct program *program) {
  unsigned short call;
  load(program, offsetof(struct seccomp_data, arch));
  put(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OWN_ARCHITECTURE);
  answer(program, SECCOMP_RET_KILL_PROCESS);  // numbers of another machine's calls mean something else
  load(program, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
    if_equal(program, allowed[i]);
    answer(program, SECCOMP_RET_ALLOW);
  }

  // Its flags are in memory, where a filter can't see them: libc takes `clone` instead.
  call = begin_call(program, __NR_clone3);
  answer(program, SECCOMP_RET_ERRNO | ENOSYS);
  end_call(program, call);

  // Threads, no processes; and no namespaces, in which it would have the rights of root.
  call = begin_call(program, __NR_clone);
  load_argument(program, 0);
  unsigned namespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
                        | CLONE_NEWCGROUP;
  put(program, BPF_JMP | BPF_JSET | BPF_K, 0, 1, namespaces);
  refuse(program);
  put(program, BPF_JMP | BPF_JSET | BPF_K, 1, 0, CLONE_THREAD);
  refuse(program);
  answer(program, SECCOMP_RET_ALLOW);
  end_call(program, call);

  // Signals to its own threads.
  call = begin_call(program, __NR_tgkill);
  load_argument(program, 0);
  need_equal(program, getpid());
  answer(program, SECCOMP_RET_ALLOW);
  end_call(program, call);

  // To the other end of a socket, not to an address.
  call = begin_call(program, __NR_sendto);
  need_null(program, 4);
  answer(program, SECCOMP_RET_ALLOW);
  end_call(program, call);

  // Names of threads and of memory.
  call = begin_call(program, __NR_prctl);
  load_argument(program, 0);
  if_equal(program, PR_SET_NAME);
  answer(program, SECCOMP_RET_ALLOW);
  need_equal(program, name_memory);
  answer(program, SECCOMP_RET_ALLOW);
  end_call(program, call);

  // Its own limits may be asked, not set.
  call = begin_call(program, __NR_prlimit64);
  load_argument(program, 0);
  need_equal(program, 0);
  need_null(program, 2);
  answer(program, SECCOMP_RET_ALLOW);
  end_call(program, call);

  refuse(program);
}

int cconfine_system_calls(void) {
  struct program program = {0};
  write_program(&program);
  struct sock_fprog filter = {program.count, program.code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
  // All threads: the engine has some already. Before Linux 5.16 a filter turns speculation off, which makes scripts a third slower and
  // protects nothing here: there is one app in the process.
  unsigned flags = SECCOMP_FILTER_FLAG_TSYNC;
  long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags | spec_allow, &filter);
  if (result < 0 && errno == EINVAL) result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  return result < 0 ? errno : result > 0 ? ESRCH : 0;  // a number is the thread that has a filter of its own
}
