#define _GNU_SOURCE
#include "clock.h"
#include "references.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int send_all(int descriptor, const uint8_t *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(descriptor, bytes, length, MSG_NOSIGNAL);
        if (sent < 0) return -errno;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 0;
}

static int receive_all(int descriptor, uint8_t *bytes, size_t length) {
    while (length > 0) {
        ssize_t got = recv(descriptor, bytes, length, 0);
        if (got < 0) return -errno;
        if (got == 0) return -ECONNRESET;
        bytes += got;
        length -= (size_t)got;
    }
    return 0;
}

// Reads byte by byte, so that nothing behind the head is taken.
static int receive_head(int descriptor) {
    char head[4096];
    size_t length = 0;
    while (length < sizeof head - 1) {
        int status = receive_all(descriptor, (uint8_t *)head + length, 1);
        if (status < 0) return status;
        head[++length] = 0;
        if (length >= 4 && memcmp(head + length - 4, "\r\n\r\n", 4) == 0)
            return strncmp(head, "HTTP/1.1 101", 12) == 0 ? 0 : -EPROTO;
    }
    return -EMSGSIZE;
}

int reference_websocket_open(int port, const char *path, const char *subprotocol, bool deflates) {
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    struct timeval patience = {.tv_sec = 120};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    char request[4096];
    int length = snprintf(
        request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s%s%s%s\r\n",
        path, port, subprotocol ? "Sec-WebSocket-Protocol: " : "", subprotocol ? subprotocol : "",
        subprotocol ? "\r\n" : "", deflates ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "");
    int status = length < (int)sizeof request ? 0 : -EMSGSIZE;
    if (status == 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) < 0) status = -errno;
    if (status == 0) status = send_all(descriptor, (uint8_t *)request, (size_t)length);
    if (status == 0) status = receive_head(descriptor);
    if (status == 0) return descriptor;
    close(descriptor);
    return status;
}

static int send_frame(int descriptor, uint8_t opcode, const uint8_t *payload, size_t length) {
    uint8_t *frame = malloc(length + 14);
    if (!frame) return -ENOMEM;
    size_t head = 2;
    frame[0] = (uint8_t)(0x80 | opcode);
    if (length < 126) {
        frame[1] = (uint8_t)(0x80 | length);
    } else if (length < 65536) {
        frame[1] = 0x80 | 126;
        frame[2] = (uint8_t)(length >> 8);
        frame[3] = (uint8_t)length;
        head = 4;
    } else {
        frame[1] = 0x80 | 127;
        for (int i = 0; i < 8; i++) frame[2 + i] = (uint8_t)((uint64_t)length >> (56 - 8 * i));
        head = 10;
    }
    // A mask of zeros leaves the payload as it is.
    memset(frame + head, 0, 4);
    memcpy(frame + head + 4, payload, length);
    int status = send_all(descriptor, frame, head + 4 + length);
    free(frame);
    return status;
}

int reference_websocket_send(int descriptor, const uint8_t *text, size_t length) {
    return send_frame(descriptor, 1, text, length);
}

int reference_websocket_send_bytes(int descriptor, const uint8_t *bytes, size_t length) {
    return send_frame(descriptor, 2, bytes, length);
}

ptrdiff_t reference_websocket_receive(int descriptor, uint8_t *payload, size_t capacity) {
    for (;;) {
        uint8_t head[10];
        int status = receive_all(descriptor, head, 2);
        if (status < 0) return status;
        uint64_t length = head[1] & 127;
        int more = length == 126 ? 2 : length == 127 ? 8 : 0;
        if (more > 0) {
            if ((status = receive_all(descriptor, head + 2, (size_t)more)) < 0) return status;
            length = 0;
            for (int i = 0; i < more; i++) length = length << 8 | head[2 + i];
        }
        if (length > capacity) return -EMSGSIZE;
        if ((status = receive_all(descriptor, payload, (size_t)length)) < 0) return status;
        switch (head[0]) {
        case 0x81:
        case 0x82: return (ptrdiff_t)length;
        case 0x89:  // a ping
            if ((status = send_frame(descriptor, 10, payload, (size_t)length)) < 0) return status;
            continue;
        case 0x8a: continue;
        case 0x88: return -ECONNRESET;
        default: return -EPROTO;
        }
    }
}

// The end of what came to a socket, as far as it can be the beginning of the text that is looked for.
struct tail {
    size_t length;
    uint8_t bytes[64];
};

static bool has_last(struct tail *tail, const uint8_t *piece, size_t length, const char *last) {
    size_t size = strlen(last);
    if (memmem(piece, length, last, size)) return true;
    uint8_t seam[2 * sizeof tail->bytes];
    size_t head = length < size - 1 ? length : size - 1;
    memcpy(seam, tail->bytes, tail->length);
    memcpy(seam + tail->length, piece, head);
    size_t seam_length = tail->length + head;
    if (memmem(seam, seam_length, last, size)) return true;
    // A piece as long as this is all that the next seam needs; a shorter one is in this seam as a whole.
    const uint8_t *end = length >= size - 1 ? piece + length : seam + seam_length;
    size_t available = length >= size - 1 ? length : seam_length;
    tail->length = available < size - 1 ? available : size - 1;
    memcpy(tail->bytes, end - tail->length, tail->length);
    return false;
}

static void keep(const uint8_t *bytes, size_t length, uint8_t *record, size_t capacity, size_t *recorded) {
    size_t room = capacity - *recorded, part = length < room ? length : room;
    memcpy(record + *recorded, bytes, part);
    *recorded += part;
}

// What is left of the frames that end with the text: it must not be taken for the beginning of what comes next.
static int read_rest(
    const int *descriptors, int count, uint8_t *buffer, size_t size, uint8_t *record, size_t capacity, size_t *recorded,
    struct reference_arrival *arrival) {
    usleep(20000);
    for (int i = 0; i < count; i++) {
        ssize_t got;
        while ((got = recv(descriptors[i], buffer, size, MSG_DONTWAIT)) > 0) {
            arrival->bytes += (uint64_t)got;
            if (i == 0 && record) keep(buffer, (size_t)got, record, capacity, recorded);
        }
        if (got == 0) return -ECONNRESET;
        if (errno != EAGAIN && errno != EINTR) return -errno;
    }
    return 0;
}

int reference_receive_all(
    const int *descriptors, int count, const char *last, int timeout_seconds, uint8_t *record, size_t *recorded,
    struct reference_arrival *arrival) {
    enum { buffer_size = 1 << 18 };
    if (strlen(last) > sizeof((struct tail *)0)->bytes) return -EINVAL;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0) return -errno;
    struct tail *tails = calloc((size_t)count, sizeof *tails);
    uint8_t *buffer = malloc(buffer_size);
    struct epoll_event events[256];
    size_t capacity = *recorded;
    int open = count, status = tails && buffer ? 0 : -ENOMEM;
    double begin = 0, end = now() + timeout_seconds;
    *recorded = 0;
    *arrival = (struct reference_arrival){0};
    for (int i = 0; i < count && status == 0; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[i], &event) < 0) status = -errno;
    }
    while (open > 0 && status == 0) {
        int ready = epoll_wait(poll, events, 256, 200);
        if (ready < 0 && errno != EINTR) status = -errno;
        if (now() > end) status = -ETIMEDOUT;
        for (int k = 0; k < ready && status == 0; k++) {
            uint32_t i = events[k].data.u32;
            ssize_t got = recv(descriptors[i], buffer, buffer_size, MSG_DONTWAIT);
            if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (got <= 0) {
                status = got < 0 ? -errno : -ECONNRESET;
                break;
            }
            if (begin == 0) begin = now();
            arrival->bytes += (uint64_t)got;
            if (i == 0 && record) keep(buffer, (size_t)got, record, capacity, recorded);
            if (has_last(&tails[i], buffer, (size_t)got, last)) {
                epoll_ctl(poll, EPOLL_CTL_DEL, descriptors[i], NULL);
                open--;
            }
        }
    }
    arrival->seconds = now() - begin;
    if (status == 0) status = read_rest(descriptors, count, buffer, buffer_size, record, capacity, recorded, arrival);
    free(buffer);
    free(tails);
    close(poll);
    return status;
}
