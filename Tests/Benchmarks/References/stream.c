#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { buffer_size = 1 << 20 };

int stream_open(struct stream *stream, int descriptor) {
    *stream = (struct stream){.descriptor = descriptor, .buffer = malloc(buffer_size)};
    return stream->buffer ? 0 : -ENOMEM;
}

void stream_close(struct stream *stream) { free(stream->buffer); }

static int take_messages(struct stream *stream, stream_take *take, void *context) {
    uint8_t *frame = stream->buffer;
    size_t left = stream->buffered;
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
        if (frame[0] == 0x81 || frame[0] == 0x82) {
            int status = take(context, frame + head, (size_t)length);
            if (status < 0) return status;
        } else if (frame[0] != 0x89) {
            return -EPROTO;
        }
        frame += head + length;
        left -= head + (size_t)length;
    }
    memmove(stream->buffer, frame, left);
    stream->buffered = left;
    return 0;
}

int stream_receive(struct stream *stream, stream_take *take, void *context) {
    ssize_t got = recv(
        stream->descriptor, stream->buffer + stream->buffered, buffer_size - stream->buffered, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    if (got == 0) return -ECONNRESET;
    stream->buffered += (size_t)got;
    return take_messages(stream, take, context);
}
