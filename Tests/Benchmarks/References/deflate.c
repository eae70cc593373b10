// Deflate as permessage-deflate uses it, with a dictionary that RFC 7692 doesn't have.
#include "references.h"

#include <stdlib.h>
#include <zlib.h>

ptrdiff_t reference_deflated(
    const uint8_t *bytes, size_t length, const uint8_t *dictionary, size_t dictionary_length, uint8_t *output,
    size_t capacity) {
    z_stream stream = {0};
    if (deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) return -1;
    ptrdiff_t result = -1;
    if (!dictionary || deflateSetDictionary(&stream, dictionary, (uInt)dictionary_length) == Z_OK) {
        stream.next_in = (Bytef *)bytes;
        stream.avail_in = (uInt)length;
        stream.next_out = output;
        stream.avail_out = (uInt)capacity;
        if (deflate(&stream, Z_SYNC_FLUSH) == Z_OK && stream.avail_in == 0 && stream.avail_out > 0) {
            result = (ptrdiff_t)(capacity - stream.avail_out) - 4;
        }
    }
    deflateEnd(&stream);
    return result;
}
