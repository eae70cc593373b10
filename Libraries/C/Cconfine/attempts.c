#define _GNU_SOURCE
#include "Cconfine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Each attempt is harmless where it succeeds, and undone.

static int kept(int descriptor) {
  if (descriptor < 0) return errno;
  close(descriptor);
  return 0;
}

static int outcome(long result) { return result < 0 ? errno : 0; }

static int try_socket(void) { return kept(socket(AF_INET, SOCK_STREAM, 0)); }

static int try_local_socket(void) { return kept(socket(AF_UNIX, SOCK_STREAM, 0)); }

static int try_connect(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return outcome(connect(3, (struct sockaddr *)&address, sizeof address));
}

static int try_bind(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  return outcome(bind(3, (struct sockaddr *)&address, sizeof address));
}

static int try_execute(void) {
  char *const none[] = {0};
  return outcome(execve("/nonexistent", none, none));
}

static int try_fork(void) {
  long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return outcome(child);
}

static int try_namespace(void) { return outcome(unshare(CLONE_NEWUSER)); }

static int try_read_file(void) { return kept(open("/etc/passwd", O_RDONLY)); }

static int try_write_file(void) { return kept(open("/tmp", O_TMPFILE | O_WRONLY, 0600)); }

static int try_remove_file(void) { return outcome(unlink("/nonexistent")); }

/// Of no process: who may trace hears so, who may not hears that.
static int try_trace(void) { return outcome(syscall(SYS_ptrace, PTRACE_ATTACH, -1, 0, 0)); }

static int try_read_parent(void) {
  char byte;
  struct iovec local = {&byte, 1}, remote = {&byte, 1};
  return outcome(syscall(SYS_process_vm_readv, getppid(), &local, 1L, &remote, 1L, 0L));
}

static int try_signal(void) { return outcome(kill(getppid(), 0)); }

static int try_become_root(void) { return outcome(syscall(SYS_setuid, 0)); }

int cconfine_attempt(int number, const char **name) {
  static const struct {
    const char *name;
    int (*attempt)(void);
  } attempts[] = {
      {"socket", try_socket},           {"local-socket", try_local_socket},
      {"connect", try_connect},         {"bind", try_bind},
      {"execute", try_execute},         {"fork", try_fork},
      {"namespace", try_namespace},     {"read-file", try_read_file},
      {"write-file", try_write_file},   {"remove-file", try_remove_file},
      {"trace", try_trace},             {"read-parent-memory", try_read_parent},
      {"signal-parent", try_signal},    {"become-root", try_become_root},
  };
  if (number < 0 || number >= (int)(sizeof attempts / sizeof *attempts)) return -1;
  *name = attempts[number].name;
  return attempts[number].attempt();
}
