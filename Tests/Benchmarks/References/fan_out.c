#define _GNU_SOURCE
#include "references.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

int reference_connect_pairs(int *senders, int *receivers, int count) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (listener < 0) return -errno;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int status = 0;
    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 16) < 0
        || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        status = -errno;
    for (int i = 0; i < count && status == 0; i++) {
        receivers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receivers[i] < 0 || connect(receivers[i], (struct sockaddr *)&address, sizeof address) < 0
            || (senders[i] = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0)
            status = -errno;
        else
            setsockopt(senders[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    close(listener);
    return status;
}

int reference_fan_out(const int *senders, int count, const uint8_t *frames, const size_t *lengths, int frame_count) {
    for (int frame = 0; frame < frame_count; frame++) {
        for (int i = 0; i < count; i++) {
            size_t sent = 0;
            while (sent < lengths[frame]) {
                ssize_t more = send(senders[i], frames + sent, lengths[frame] - sent, MSG_NOSIGNAL);
                if (more >= 0) {
                    sent += (size_t)more;
                } else if (errno == EAGAIN) {
                    struct pollfd room = {.fd = senders[i], .events = POLLOUT};
                    poll(&room, 1, 1000);
                } else if (errno != EINTR) {
                    return -errno;
                }
            }
        }
        frames += lengths[frame];
    }
    return 0;
}
