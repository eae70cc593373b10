#define _GNU_SOURCE
#include "CEmbeddedBroker.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

// A fetch that finds nothing is answered by the mock cluster when its wait is over, and not when something comes. So the executable has
// functions of its own in place of those that the cluster's thread waits, reads and writes with: they see when a produce request has been
// answered, and let that thread's clock be ahead for one round. Then the waits of all fetches are over, the clients ask again, and find
// what came. Other threads go straight to libc.

enum { known_fds = 4096, header_bytes = 16, produce = 0, fetch = 1 };

// More than any fetch waits (fetch.wait.max.ms), less than a member's session lasts beyond its last heartbeat.
static const int64_t ahead_ms = 1000;

static atomic_int wakes = 1;

void cembedded_wake_fetches(int yes) { atomic_store(&wakes, yes); }

// Of the cluster's thread.
static _Thread_local struct {
  int is_known, is_mock;
  enum { usual, due, writing } round;
  int is_wanted;
  int64_t ahead;
  uint8_t produces[known_fds];
} mock;

static int is_mock(void) {
  if (!mock.is_known) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    mock.is_mock = strcmp(name, "rdk:mock") == 0;  // which it is called before it does anything else
    mock.is_known = 1;
  }
  return mock.is_mock;
}

#define LIBC(name) ((__typeof__(&name))libc_function(#name, &name##_in_libc))
static _Atomic(void *) clock_gettime_in_libc, poll_in_libc, recvmsg_in_libc, sendmsg_in_libc;

static void *libc_function(const char *name, _Atomic(void *) *known) {
  void *found = atomic_load_explicit(known, memory_order_relaxed);
  if (!found) {
    found = dlsym(RTLD_NEXT, name);
    atomic_store_explicit(known, found, memory_order_relaxed);
  }
  return found;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = LIBC(clock_gettime)(clock, time);
  if (mock.ahead && result == 0) {
    time->tv_sec += mock.ahead / 1000;
    time->tv_nsec += mock.ahead % 1000 * 1000000;
    if (time->tv_nsec >= 1000000000) {
      time->tv_sec += 1;
      time->tv_nsec -= 1000000000;
    }
  }
  return result;
}

__attribute__((visibility("default"))) int poll(struct pollfd *fds, nfds_t count, int timeout) {
  if (!is_mock()) return LIBC(poll)(fds, count, timeout);
  switch (mock.round) {
    case usual:
      if (!mock.is_wanted || !atomic_load(&wakes)) break;
      // First the timers, which say that the answers may be written.
      mock.is_wanted = 0;
      mock.round = due;
      mock.ahead = ahead_ms;
      for (nfds_t i = 0; i < count; i++) fds[i].revents = 0;
      return 0;
    case due: {
      // Then the answers. Nothing is read: its time would be ahead as well, and the next round no end of its wait.
      mock.round = writing;
      int ready = LIBC(poll)(fds, count, 0), left = 0;
      for (nfds_t i = 0; i < count && ready > 0; i++) {
        fds[i].revents &= POLLOUT;
        left += fds[i].revents != 0;
      }
      return ready > 0 ? left : ready;
    }
    case writing:
      mock.round = usual;
      mock.ahead = 0;
  }
  return LIBC(poll)(fds, count, timeout);
}

// What the fortified build of librdkafka calls.
__attribute__((visibility("default"))) int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size) {
  (void)size;
  return poll(fds, count, timeout);
}

__attribute__((visibility("default"))) ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
  ssize_t result = LIBC(recvmsg)(fd, message, flags);
  if (!is_mock() || result < 6 || fd < 0 || fd >= known_fds) return result;
  size_t room = 0;
  for (size_t i = 0; i < message->msg_iovlen; i++) room += message->msg_iov[i].iov_len;
  // The head of a request is read alone: its length, then what it asks for.
  if (room > header_bytes || message->msg_iov[0].iov_len < 6) return result;
  const uint8_t *head = message->msg_iov[0].iov_base;
  int key = head[4] << 8 | head[5];
  if (key == produce) mock.produces[fd] = 1;
  if (key == fetch) mock.produces[fd] = 0;  // a connection that has the number of one that is gone
  return result;
}

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  ssize_t result = LIBC(sendmsg)(fd, message, flags);
  if (is_mock() && result > 0 && fd >= 0 && fd < known_fds && mock.produces[fd]) mock.is_wanted = 1;
  return result;
}
