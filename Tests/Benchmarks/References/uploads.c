#define _GNU_SOURCE
#include "clock.h"
#include "references.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 1 << 20 };

struct device {
    int descriptor;
    const uint8_t *unsent;
    int sent, answered;
    size_t buffered;
    uint8_t *buffer;
};

// Sends frames until `window` are unanswered. They are small against a socket's buffer, and the socket blocks.
static int fill_window(struct device *device, const size_t *lengths, int count, int window) {
    while (device->sent < count && device->sent - device->answered < window) {
        int status = reference_websocket_send(device->descriptor, device->unsent, lengths[device->sent]);
        if (status < 0) return status;
        device->unsent += lengths[device->sent++];
    }
    return 0;
}

// Takes the frames that are whole out of the buffer: counts acknowledgements, answers pings, passes over downloads.
static int take_frames(struct device *device) {
    static const char ack[] = "{\"type\":\"ack\"", download[] = "{\"type\":\"download\"";
    uint8_t *frame = device->buffer;
    size_t left = device->buffered;
    for (;;) {
        if (left < 2) break;
        size_t head = 2;
        uint64_t length = frame[1] & 127;
        int more = length == 126 ? 2 : length == 127 ? 8 : 0;
        head += (size_t)more;
        if (left < head) break;
        if (more > 0) {
            length = 0;
            for (int i = 0; i < more; i++) length = length << 8 | frame[2 + i];
        }
        if (head + length > buffer_size) return -EMSGSIZE;
        if (left < head + length) break;
        const uint8_t *payload = frame + head;
        if (frame[0] == 0x81 && length >= sizeof ack - 1 && memcmp(payload, ack, sizeof ack - 1) == 0)
            device->answered++;
        else if (frame[0] != 0x89 && (length < sizeof download - 1 || memcmp(payload, download, sizeof download - 1) != 0))
            return -EPROTO;
        frame += head + length;
        left -= head + (size_t)length;
    }
    memmove(device->buffer, frame, left);
    device->buffered = left;
    return 0;
}

static int receive(struct device *device) {
    ssize_t got = recv(
        device->descriptor, device->buffer + device->buffered, buffer_size - device->buffered, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (got == 0) return -ECONNRESET;
    device->buffered += (size_t)got;
    return take_frames(device);
}

int reference_upload(
    const int *descriptors, int device_count, const uint8_t *const *frames, const size_t *lengths, int frame_count,
    int window, int timeout_seconds, double *seconds) {
    int poll = epoll_create1(EPOLL_CLOEXEC), status = poll < 0 ? -errno : 0, open = device_count;
    struct device *devices = calloc((size_t)device_count, sizeof *devices);
    struct epoll_event events[256];
    double begin = now();
    if (!devices) status = -ENOMEM;
    for (int i = 0; i < device_count && status == 0; i++) {
        devices[i] = (struct device){.descriptor = descriptors[i], .unsent = frames[i], .buffer = malloc(buffer_size)};
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (!devices[i].buffer) status = -ENOMEM;
        else if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[i], &event) < 0) status = -errno;
        else status = fill_window(&devices[i], lengths + (size_t)i * (size_t)frame_count, frame_count, window);
    }
    while (open > 0 && status == 0) {
        int ready = epoll_wait(poll, events, 256, 200);
        if (now() - begin > timeout_seconds) status = -ETIMEDOUT;
        for (int k = 0; k < ready && status == 0; k++) {
            uint32_t i = events[k].data.u32;
            bool was_open = devices[i].answered < frame_count;
            if ((status = receive(&devices[i])) < 0) break;
            status = fill_window(&devices[i], lengths + (size_t)i * (size_t)frame_count, frame_count, window);
            if (was_open && devices[i].answered >= frame_count) open--;
        }
    }
    *seconds = now() - begin;
    for (int i = 0; devices && i < device_count; i++) free(devices[i].buffer);
    free(devices);
    if (poll >= 0) close(poll);
    return status;
}
