#define _GNU_SOURCE
#include "Cspawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Between vfork and exec the child works in the parent's memory: only system calls, no allocation, no locks.

static int open_as(const char *path, int flags, int number) {
  int fd = open(path, flags, 0644);
  if (fd < 0 || fd == number) return fd < 0 ? -1 : 0;
  if (dup2(fd, number) < 0) return -1;
  return close(fd);
}

/// Numbers beyond those that the descriptors are moved to, so that no move overwrites one that is still to be moved.
enum { first_free = 200 };

static int place_descriptors(const struct cspawn_request *request) {
  int moved[16];
  if (request->descriptor_count > 16) {
    errno = EMFILE;
    return -1;
  }
  for (int i = 0; i < request->descriptor_count; i++) {
    moved[i] = fcntl(request->descriptors[i], F_DUPFD, first_free);
    if (moved[i] < 0) return -1;
  }
  if (open_as("/dev/null", O_RDONLY, 0) < 0) return -1;
  int is_given = request->output_descriptor >= 0;
  if (is_given && dup2(request->output_descriptor, 1) < 0) return -1;
  if (request->output && open_as(request->output, O_WRONLY | O_CREAT | O_APPEND, is_given ? 2 : 1) < 0) return -1;
  int is_for_both = is_given != (request->output != 0);
  if (is_for_both && dup2(1, 2) < 0) return -1;
  for (int i = 0; i < request->descriptor_count; i++) {
    if (dup2(moved[i], 3 + i) < 0) return -1;
  }
  closefrom(3 + request->descriptor_count);
  return 0;
}

/// By system calls: the functions of libc would change all threads of the process, which are the parent's.
static int change_account(const struct cspawn_request *request) {
  if (!request->changes_account) return 0;
  if (syscall(SYS_setgroups, 0, 0) < 0) return -1;
  if (syscall(SYS_setresgid, request->group, request->group, request->group) < 0) return -1;
  return (int)syscall(SYS_setresuid, request->user, request->user, request->user);
}

/// Before the change of the account, after which these files belong to root. A child of vfork has a priority of its own.
static void end_first(const struct cspawn_request *request) {
  if (!request->ends_first) return;
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "1000", 4) < 0) {
    // Then it ends in the order of all others.
  }
  close(file);
}

/// Of the child alone: between vfork and exec limits are already its own.
static int limit(const struct cspawn_request *request) {
  for (int i = 0; i < request->limit_count; i++) {
    struct rlimit both = {request->limits[i].most, request->limits[i].most};
    // No more than the parent has: only root could raise it.
    struct rlimit present;
    if (getrlimit(request->limits[i].resource, &present) < 0) return -1;
    if (both.rlim_max > present.rlim_max) both.rlim_cur = both.rlim_max = present.rlim_max;
    if (setrlimit(request->limits[i].resource, &both) < 0) return -1;
  }
  return request->forbids_new_privileges ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) : 0;
}

/// After the change of the account, which forgets the signal.
static int follow(const struct cspawn_request *request, pid_t parent) {
  if (!request->death_signal) return 0;
  if (prctl(PR_SET_PDEATHSIG, request->death_signal) < 0) return -1;
  if (getppid() != parent) _exit(128 + request->death_signal);  // it has ended already
  return 0;
}

static void become(const struct cspawn_request *request, pid_t parent) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) sigaction(number, &action, 0);  // some may not be changed
  if (setpgid(0, 0) < 0 || place_descriptors(request) < 0) return;
  if (request->directory && chdir(request->directory) < 0) return;
  end_first(request);
  if (limit(request) < 0 || change_account(request) < 0 || follow(request, parent) < 0) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, 0);
  execvpe(request->executable, request->arguments, request->environment);
}

int cspawn(const struct cspawn_request *request, pid_t *pid) {
  volatile int failure = 0;
  pid_t parent = getpid();
  // No handler of the parent may run in the child, on the parent's memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t child = vfork();
  if (child == 0) {
    become(request, parent);
    failure = errno;
    _exit(127);
  }
  int error = child < 0 ? errno : failure;
  pthread_sigmask(SIG_SETMASK, &before, 0);
  if (child > 0 && error) {
    while (waitpid(child, 0, 0) < 0 && errno == EINTR) {
    }
  }
  if (!error) *pid = child;
  return error;
}
