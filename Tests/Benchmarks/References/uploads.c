#define _GNU_SOURCE
#include "clock.h"
#include "references.h"
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct device {
    struct stream stream;
    const uint8_t *unsent;
    int sent, answered;
    /// The text that is waited for, until it has come.
    const char *last;
};

// Sends frames until `window` are unanswered. They are small against a socket's buffer, and the socket blocks.
static int fill_window(struct device *device, const size_t *lengths, int count, int window) {
    while (device->sent < count && device->sent - device->answered < window) {
        int status = reference_websocket_send(device->stream.descriptor, device->unsent, lengths[device->sent]);
        if (status < 0) return status;
        device->unsent += lengths[device->sent++];
    }
    return 0;
}

// Counts acknowledgements, looks for the last download.
static int take(void *context, const uint8_t *text, size_t length) {
    struct device *device = context;
    if (STREAM_IS(text, length, "{\"type\":\"ack\"")) device->answered++;
    else if (!STREAM_IS(text, length, "{\"type\":\"download\"")) return -EPROTO;
    else if (device->last && memmem(text, length, device->last, strlen(device->last))) device->last = NULL;
    return 0;
}

static bool is_open(const struct device *device, int frame_count) {
    return device->answered < frame_count || device->last;
}

int reference_upload(
    const int *descriptors, int device_count, const uint8_t *const *frames, const size_t *lengths, int frame_count,
    int window, const char *last, int timeout_seconds, double *seconds) {
    int poll = epoll_create1(EPOLL_CLOEXEC), status = poll < 0 ? -errno : 0, open = device_count;
    struct device *devices = calloc((size_t)device_count, sizeof *devices);
    struct epoll_event events[256];
    double begin = now();
    if (!devices) status = -ENOMEM;
    for (int i = 0; i < device_count && status == 0; i++) {
        devices[i].unsent = frames[i];
        devices[i].last = last;
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if ((status = stream_open(&devices[i].stream, descriptors[i])) < 0) break;
        if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[i], &event) < 0) status = -errno;
        else status = fill_window(&devices[i], lengths + (size_t)i * (size_t)frame_count, frame_count, window);
    }
    while (open > 0 && status == 0) {
        int ready = epoll_wait(poll, events, 256, 200);
        if (now() - begin > timeout_seconds) status = -ETIMEDOUT;
        for (int k = 0; k < ready && status == 0; k++) {
            uint32_t i = events[k].data.u32;
            bool was_open = is_open(&devices[i], frame_count);
            if ((status = stream_receive(&devices[i].stream, take, &devices[i])) < 0) break;
            status = fill_window(&devices[i], lengths + (size_t)i * (size_t)frame_count, frame_count, window);
            if (was_open && !is_open(&devices[i], frame_count)) open--;
        }
    }
    *seconds = now() - begin;
    for (int i = 0; devices && i < device_count; i++) stream_close(&devices[i].stream);
    free(devices);
    if (poll >= 0) close(poll);
    return status;
}
