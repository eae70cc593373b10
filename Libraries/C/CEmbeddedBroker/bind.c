#define _GNU_SOURCE
#include "CEmbeddedBroker.h"

#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Of the thread: binds that happen elsewhere in the process at the same time are none of our business.
static _Thread_local int next_port;

void cembedded_fix_ports(int first_port) { next_port = first_port; }

// A process that is just being forked has the listener that was closed here, until its exec: then the port is free again.
// librdkafka 2.0 aborts when a mock broker that comes up again can't listen.
static int outlast_forks(int (*libc_bind)(int, const struct sockaddr *, socklen_t), int fd, const struct sockaddr *address,
                         socklen_t length) {
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof thread);
  int is_mock = strcmp(thread, "rdk:mock") == 0;
  int result = libc_bind(fd, address, length);
  for (int attempt = 0; is_mock && result != 0 && errno == EADDRINUSE && attempt < 5000; attempt++) {
    nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    result = libc_bind(fd, address, length);
  }
  return result;
}

__attribute__((visibility("default"))) int bind(int fd, const struct sockaddr *address, socklen_t length) {
  int (*libc_bind)(int, const struct sockaddr *, socklen_t) =
      (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "bind");
  if (!libc_bind) {
    errno = ENOSYS;
    return -1;
  }
  if (next_port > 0 && address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
    struct sockaddr_in fixed = *(const struct sockaddr_in *)address;
    if (fixed.sin_port == 0) {
      // A port of which old connections still wait to be forgotten may be taken again.
      int yes = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      fixed.sin_port = htons((uint16_t)next_port++);
      return libc_bind(fd, (const struct sockaddr *)&fixed, sizeof fixed);
    }
  }
  return outlast_forks(libc_bind, fd, address, length);
}

int cembedded_port_is_free(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int is_free = bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0;
  close(fd);
  return is_free;
}
