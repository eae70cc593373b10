// Extended JSON by libbson.
#include "references.h"

#include <bson/bson.h>

bool reference_json_parse(const uint8_t *text, size_t length, int count) {
    for (int i = 0; i < count; i++) {
        bson_error_t error;
        bson_t *document = bson_new_from_json(text, (ssize_t)length, &error);
        if (!document) return false;
        bson_destroy(document);
    }
    return true;
}

bool reference_json_print(const uint8_t *text, size_t length, int count) {
    bson_error_t error;
    bson_t *document = bson_new_from_json(text, (ssize_t)length, &error);
    if (!document) return false;
    for (int i = 0; i < count; i++) {
        char *printed = bson_as_canonical_extended_json(document, NULL);
        if (!printed) break;
        bson_free(printed);
    }
    bson_destroy(document);
    return true;
}
