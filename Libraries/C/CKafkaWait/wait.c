#define _GNU_SOURCE
#include "CKafkaWait.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <threads.h>
#include <time.h>

// librdkafka before 2.4 cuts what the main thread of a client waits for to whole milliseconds, and asks for the rest of the last one
// again and again (github.com/confluentinc/librdkafka/issues/4684). Each of its timers, of which a client has several a second, costs
// about half a millisecond of processor time so. A wait that is one millisecond longer ends behind the timer; a message or a request
// ends it at once as before.
enum kind { unknown, main_thread, other };

static _Thread_local enum kind kind;

static int is_main_thread(void) {
  if (kind == unknown) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    kind = strcmp(name, "rdk:main") == 0 ? main_thread : other;
  }
  return kind == main_thread;
}

typedef int (*wait_function)(cnd_t *, mtx_t *, const struct timespec *);

static wait_function libc_wait(void) {
  static _Atomic(wait_function) found;
  wait_function function = atomic_load_explicit(&found, memory_order_acquire);
  if (function) return function;
  function = (wait_function)dlsym(RTLD_NEXT, "cnd_timedwait");
  atomic_store_explicit(&found, function, memory_order_release);
  return function;
}

__attribute__((visibility("default"))) int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until) {
  wait_function wait = libc_wait();
  if (!wait) return thrd_error;
  if (!is_main_thread()) return wait(condition, mutex, until);
  struct timespec later = *until;
  later.tv_nsec += 1000000;
  if (later.tv_nsec >= 1000000000) {
    later.tv_nsec -= 1000000000;
    later.tv_sec++;
  }
  return wait(condition, mutex, &later);
}
