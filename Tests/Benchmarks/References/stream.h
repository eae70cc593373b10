/// The messages of a WebSocket whose server sends more than is waited for.
#ifndef PARTITA_REFERENCES_STREAM_H
#define PARTITA_REFERENCES_STREAM_H

#include <stddef.h>
#include <stdint.h>

/// What came on a descriptor and isn't a whole message yet.
struct stream {
    int descriptor;
    size_t buffered;
    uint8_t *buffer;
};

/// Takes a message, of text or of bytes. Returns 0 or a negative errno value.
typedef int stream_take(void *context, const uint8_t *text, size_t length);

/// Returns 0 or a negative errno value.
int stream_open(struct stream *stream, int descriptor);
void stream_close(struct stream *stream);

/// Reads what is there, and takes the messages that are whole; passes over pings. Returns 0 or a negative errno value.
int stream_receive(struct stream *stream, stream_take *take, void *context);

/// Whether the text begins like this.
#define STREAM_IS(text, length, beginning) \
    ((length) >= sizeof(beginning) - 1 && memcmp((text), (beginning), sizeof(beginning) - 1) == 0)

#endif
