/// What Partita is compared with: the same work in plain C, and clients that cost as little as possible beside it.
#ifndef PARTITA_REFERENCES_H
#define PARTITA_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// WebSocket clients (websockets.c). Failures are negative errno values.

/// Connects to 127.0.0.1 and upgrades, offering permessage-deflate if `deflates`. Returns the descriptor, which blocks.
int reference_websocket_open(int port, const char *path, const char *_Nullable subprotocol, bool deflates);

/// Sends a masked text message.
int reference_websocket_send(int descriptor, const uint8_t *text, size_t length);

/// Sends a masked binary message.
int reference_websocket_send_bytes(int descriptor, const uint8_t *bytes, size_t length);

/// Answers pings, and reads the payload of one unfragmented message into `payload` and returns its length.
ptrdiff_t reference_websocket_receive(int descriptor, uint8_t *payload, size_t capacity);

/// What came to many sockets.
struct reference_arrival {
    /// From the first byte to the last one, on any of the sockets.
    double seconds;
    /// Bytes on all sockets together.
    uint64_t bytes;
};

/// Reads from all descriptors until each has got `last`, a text that ends what is sent.
///
/// `record` keeps the first descriptor's bytes, at most `*recorded` of them; `*recorded` is set to how many there were.
int reference_receive_all(
    const int *descriptors, int count, const char *last, int timeout_seconds, uint8_t *_Nullable record,
    size_t *recorded, struct reference_arrival *arrival);

// Sending one stream to many sockets (fan_out.c).

/// Connects `count` pairs of sockets over 127.0.0.1: what is sent on `senders[i]` comes to `receivers[i]`.
int reference_connect_pairs(int *senders, int *receivers, int count);

/// Sends each frame to each socket before the next frame: `frames` holds them one after the other, `lengths` their lengths.
int reference_fan_out(
    const int *senders, int count, const uint8_t *frames, const size_t *lengths, int frame_count);

// One commit and one message (latency.c).

/// A libpq connection to an empty database, and a librdkafka producer and consumer of one topic. Nil if one can't be had.
struct reference_latency;
struct reference_latency *_Nullable reference_latency_open(
    const char *postgres, const char *bootstrap, const char *topic, bool is_embedded);

/// Commits an insert, then sends a message and waits for it. Returns the seconds that took, or a negative number.
double reference_latency_measure(struct reference_latency *handle);

/// Commits an insert. Returns the seconds that took, or a negative number.
double reference_latency_commit(struct reference_latency *handle);

void reference_latency_close(struct reference_latency *handle);

// Extended JSON (json.c). False where the text can't be read.

/// Makes a BSON document of the text, so many times.
bool reference_json_parse(const uint8_t *text, size_t length, int count);

/// Makes the canonical text of the document, so many times; the document is made once.
bool reference_json_print(const uint8_t *text, size_t length, int count);

// Devices that upload (uploads.c).

/// Sends each device's frames over its WebSocket, at most `window` without an acknowledgement, and waits for all of those.
///
/// `frames[i]` holds the texts of device `i` one after the other, `lengths` those of all devices, `frame_count` for each. If there is a
/// `last`, each device also waits for a download with that text.
int reference_upload(
    const int *descriptors, int device_count, const uint8_t *_Nullable const *_Nonnull frames, const size_t *lengths,
    int frame_count, int window, const char *_Nullable last, int timeout_seconds, double *seconds);

// Clients of the Realm protocol (realm.c).

/// A client with one session, whose number is 1. The versions are kept up to date.
struct reference_realm_client {
    /// A WebSocket.
    int descriptor;
    /// The client's newest version, and that of the history which it has.
    uint64_t client_version, server_version;
    /// The changesets that it uploads, one after the other, with the length of each.
    const uint8_t *_Nullable changesets;
    const size_t *_Nullable lengths;
    int changeset_count;
};

/// Has each client upload its changesets, each as a version of its own, at most `window` without an acknowledgement; waits for all of
/// those, and until each client has the version `until` of the history, if that isn't 0.
///
/// As realm-core does, a client says after each download how far it is. `from_one_base`: all changesets of a client are based on the
/// version of the history that it has at the beginning, as if it had been offline until then.
int reference_realm_upload(
    struct reference_realm_client *clients, int client_count, int window, bool from_one_base, uint64_t until,
    int timeout_seconds, double *seconds);

// Devices that upload at a steady rate, whether or not they were answered (load.c).

/// What is sent, by whom, and how often. Descriptors are WebSockets. Each frame contains the mark of its place, `mark-` and eight digits,
/// in what readers get of it.
struct reference_load {
    const int *writers;
    int writer_count;
    /// Those that have a partition open into which is written.
    const int *readers;
    int reader_count;
    /// One after the other; writer `i % writer_count` sends frame `i`.
    const uint8_t *frames;
    const size_t *lengths;
    int frame_count;
    double per_second;
    /// How many arrivals at readers all frames have together.
    long arrival_count;
};

/// Sends the frames, each when it is due, and waits until all were acknowledged and have arrived. `acks` takes a time for each frame,
/// `arrivals` one for each arrival: the seconds from when the frame was due. Returns 0 or a negative errno value.
int reference_offer(const struct reference_load *load, int timeout_seconds, double *acks, double *arrivals);

// Documents and change rows (inserts.c).

/// Inserts documents (`$1` id, `$2` revision, `$3` body, `$4` its plain form) and their change rows (`$1` to `$3`) over one connection
/// in pipeline mode, some in each transaction. `id_format` takes the number, which is the revision too. Returns the seconds that took
/// until the last one was durable, or a negative number.
double reference_pipelined_inserts(
    const char *url, const char *document_sql, const char *change_sql, const char *id_format, const char *body,
    const char *plain, long first, long count, long per_transaction);

// Messages of a topic (kafka.c), each with a key and two headers. Seconds, or a negative number.

/// Sends messages and waits until all are acknowledged, at most `window` unacknowledged at a time.
double reference_kafka_produce(
    const char *bootstrap, const char *topic, const uint8_t *value, size_t length, int count, int window);

/// Reads messages from the beginning of partition 0; the time is from the first one on.
double reference_kafka_consume(const char *bootstrap, const char *topic, int count, bool is_embedded);

// Requests by libcurl (http_client.c).

/// GETs, some at once, that are answered with 200. Seconds, or a negative number.
double reference_http_get(const char *url, int count, int concurrency, int timeout_seconds);

// libuv (event_loop.c). Seconds, or a negative number.

/// Two loops, each with its thread, that wake each other in turns; as many wakes together.
double reference_loop_hops(int count);

/// One loop on which pairs of sockets throw a byte to and fro; as many catches together.
double reference_loop_events(int pairs, int count);

// Logs and metrics (observability.c). Seconds, or a negative number.

/// Writes JSON lines to a file.
double reference_log_lines(const char *path, int count);

/// Counts, and sorts durations into buckets, by atomics.
double reference_metric_records(
    const double *bounds, int bound_count, const double *seconds, int value_count, long count);

// Compression (deflate.c).

/// Deflates a message at level 1 as permessage-deflate does, after a dictionary if there is one. Returns its length, or a negative number.
ptrdiff_t reference_deflated(
    const uint8_t *bytes, size_t length, const uint8_t *_Nullable dictionary, size_t dictionary_length, uint8_t *output,
    size_t capacity);

#pragma clang assume_nonnull end

#endif
