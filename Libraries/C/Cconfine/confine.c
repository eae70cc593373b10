#define _GNU_SOURCE
#include "Cconfine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int cconfine_account(uid_t user, gid_t group, int death_signal) {
  pid_t parent = getppid();
  if (setgroups(0, 0) < 0 || setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return errno;
  // It must not come back.
  if (user != 0 && setuid(0) == 0) return EPERM;
  if (death_signal) {
    if (prctl(PR_SET_PDEATHSIG, death_signal) < 0) return errno;
    if (getppid() != parent) _exit(128 + death_signal);  // it has ended meanwhile
  }
  return 0;
}

int cconfine_descriptors(int first) {
  closefrom(first);
  return 0;
}

int cconfine_memory_priority(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  ssize_t written = write(file, "1000", 4);
  int error = written == 4 ? 0 : errno;
  close(file);
  return error;
}
