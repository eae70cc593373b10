#define _GNU_SOURCE
#include "clock.h"
#include "references.h"
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct client {
    struct reference_realm_client *state;
    struct stream stream;
    const uint8_t *unsent;
    int sent, answered;
    /// The client's version before its first changeset.
    uint64_t first;
    /// The version of the history on which changesets are based, if that doesn't change; else 0.
    uint64_t base;
    /// Whether it has got something since it last said how far it is.
    bool owes_progress;
};

// Milliseconds since 2015.
static uint64_t realm_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000 - 1420070400000;
}

static int send_changeset(struct client *client) {
    struct reference_realm_client *state = client->state;
    size_t length = state->lengths[client->sent];
    uint64_t base = client->base ? client->base : state->server_version;
    char entry[128], line[128];
    state->client_version++;
    int entry_length = snprintf(
        entry, sizeof entry, "%" PRIu64 " %" PRIu64 " %" PRIu64 " 0 %zu ", state->client_version, base, realm_time(),
        length);
    int line_length = snprintf(
        line, sizeof line, "upload 1 0 %zu 0 %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", (size_t)entry_length + length,
        state->client_version, base, base);
    uint8_t *message = malloc((size_t)(line_length + entry_length) + length);
    if (!message) return -ENOMEM;
    memcpy(message, line, (size_t)line_length);
    memcpy(message + line_length, entry, (size_t)entry_length);
    memcpy(message + line_length + entry_length, client->unsent, length);
    int status = reference_websocket_send_bytes(
        state->descriptor, message, (size_t)(line_length + entry_length) + length);
    free(message);
    client->unsent += length;
    client->sent++;
    client->owes_progress = false;
    return status;
}

// An upload without changesets. While changesets on an older version are unanswered, it would say that there are no more of these.
static int send_progress(struct client *client) {
    struct reference_realm_client *state = client->state;
    if (!client->owes_progress || (client->base && client->answered < state->changeset_count)) return 0;
    char line[128];
    int length = snprintf(
        line, sizeof line, "upload 1 0 0 0 %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", state->client_version,
        state->server_version, state->server_version);
    client->owes_progress = false;
    return reference_websocket_send_bytes(state->descriptor, (uint8_t *)line, (size_t)length);
}

// Messages are small against a socket's buffer, and the socket blocks.
static int fill_window(struct client *client, int window) {
    while (client->sent < client->state->changeset_count && client->sent - client->answered < window) {
        int status = send_changeset(client);
        if (status < 0) return status;
    }
    return send_progress(client);
}

static int take(void *context, const uint8_t *text, size_t length) {
    struct client *client = context;
    if (!STREAM_IS(text, length, "download ")) return -EPROTO;
    // The session, the versions of history and client that were sent, the newest version with its salt, the acknowledged one.
    uint64_t numbers[6] = {0};
    size_t at = strlen("download ");
    for (int i = 0; i < 6; i++) {
        while (at < length && text[at] >= '0' && text[at] <= '9') numbers[i] = numbers[i] * 10 + (text[at++] - '0');
        if (at++ >= length) return -EPROTO;
    }
    client->state->server_version = numbers[1];
    client->owes_progress = true;
    if (numbers[5] > client->first) client->answered = (int)(numbers[5] - client->first);
    return 0;
}

static bool is_open(const struct client *client, uint64_t until) {
    return client->answered < client->state->changeset_count || client->state->server_version < until;
}

static int begin(struct client *client, struct reference_realm_client *state, bool from_one_base) {
    client->state = state;
    client->first = state->client_version;
    client->base = from_one_base ? state->server_version : 0;
    client->unsent = state->changesets;
    return stream_open(&client->stream, state->descriptor);
}

int reference_realm_upload(
    struct reference_realm_client *states, int client_count, int window, bool from_one_base, uint64_t until,
    int timeout_seconds, double *seconds) {
    int poll = epoll_create1(EPOLL_CLOEXEC), status = poll < 0 ? -errno : 0, open = 0;
    struct client *clients = calloc((size_t)client_count, sizeof *clients);
    struct epoll_event events[256];
    if (!clients) status = -ENOMEM;
    for (int i = 0; i < client_count && status == 0; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        status = begin(&clients[i], &states[i], from_one_base);
        if (status == 0 && epoll_ctl(poll, EPOLL_CTL_ADD, states[i].descriptor, &event) < 0) status = -errno;
    }
    double start = now();
    for (int i = 0; i < client_count && status == 0; i++) {
        if (is_open(&clients[i], until)) open++;
        status = fill_window(&clients[i], window);
    }
    while (open > 0 && status == 0) {
        int ready = epoll_wait(poll, events, 256, 200);
        if (now() - start > timeout_seconds) status = -ETIMEDOUT;
        for (int k = 0; k < ready && status == 0; k++) {
            struct client *client = &clients[events[k].data.u32];
            bool was_open = is_open(client, until);
            if ((status = stream_receive(&client->stream, take, client)) < 0) break;
            status = fill_window(client, window);
            if (was_open && !is_open(client, until)) open--;
        }
    }
    *seconds = now() - start;
    for (int i = 0; clients && i < client_count; i++) {
        if (clients[i].stream.buffer) stream_close(&clients[i].stream);
    }
    free(clients);
    if (poll >= 0) close(poll);
    return status;
}
