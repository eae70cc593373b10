#include "clock.h"
#include "references.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

// Two loops that wake each other.

struct hopper {
    uv_loop_t loop;
    uv_async_t async;
    struct hopper *other;
    bool is_second;
    int left;
};

static void hop(uv_async_t *async) {
    struct hopper *hopper = async->data;
    bool is_last = --hopper->left == 0;
    // The second loop's last wake is the last of all: the first one has closed by then.
    if (!is_last || !hopper->is_second) uv_async_send(&hopper->other->async);
    if (is_last) uv_close((uv_handle_t *)async, NULL);
}

static void run_loop(void *hopper) { uv_run(&((struct hopper *)hopper)->loop, UV_RUN_DEFAULT); }

double reference_loop_hops(int count) {
    struct hopper hoppers[2];
    uv_thread_t threads[2];
    for (int i = 0; i < 2; i++) {
        uv_loop_init(&hoppers[i].loop);
        uv_async_init(&hoppers[i].loop, &hoppers[i].async, hop);
        hoppers[i].async.data = &hoppers[i];
        hoppers[i].other = &hoppers[1 - i];
        hoppers[i].is_second = i == 1;
        hoppers[i].left = count / 2;
    }
    double start = now();
    uv_async_send(&hoppers[0].async);
    for (int i = 0; i < 2; i++) uv_thread_create(&threads[i], run_loop, &hoppers[i]);
    for (int i = 0; i < 2; i++) uv_thread_join(&threads[i]);
    double seconds = now() - start;
    for (int i = 0; i < 2; i++) uv_loop_close(&hoppers[i].loop);
    return seconds;
}

// Sockets that become readable.

struct echo {
    uv_poll_t poll;
    int descriptor;
    int *left;
};

static void answer(uv_poll_t *poll, int status, int events) {
    (void)events;
    struct echo *echo = poll->data;
    char byte;
    if (status < 0 || read(echo->descriptor, &byte, 1) != 1) return;
    if (--*echo->left <= 0)
        uv_stop(poll->loop);
    else if (write(echo->descriptor, &byte, 1) != 1)
        uv_stop(poll->loop);
}

double reference_loop_events(int pairs, int count) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct echo *ends = calloc((size_t)pairs * 2, sizeof *ends);
    int left = count;
    for (int i = 0; i < pairs; i++) {
        int sockets[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return -errno;
        for (int j = 0; j < 2; j++) {
            struct echo *end = &ends[2 * i + j];
            *end = (struct echo){.descriptor = sockets[j], .left = &left};
            uv_poll_init(&loop, &end->poll, sockets[j]);
            end->poll.data = end;
            uv_poll_start(&end->poll, UV_READABLE, answer);
        }
        if (write(sockets[0], "x", 1) != 1) return -errno;
    }
    double start = now();
    uv_run(&loop, UV_RUN_DEFAULT);
    double seconds = now() - start;
    for (int i = 0; i < pairs * 2; i++) uv_close((uv_handle_t *)&ends[i].poll, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < pairs * 2; i++) close(ends[i].descriptor);
    free(ends);
    uv_loop_close(&loop);
    return left <= 0 ? seconds : -1;
}
