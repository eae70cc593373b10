#define _GNU_SOURCE
#include "clock.h"
#include "references.h"
#include "stream.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct run {
    const struct reference_load *load;
    double begin, *acks, *arrivals;
    long acked, arrived;
    int sent;
    const uint8_t *unsent;
};

struct member {
    struct stream stream;
    struct run *run;
    /// A writer's place, or -1.
    int writer;
    /// How many of a writer's frames were acknowledged.
    int answered;
    /// The frames that a reader has got, a bit each.
    uint8_t *got;
};

static double due(const struct run *run, int frame) { return run->begin + frame / run->load->per_second; }

static int send_due(struct run *run) {
    while (run->sent < run->load->frame_count && due(run, run->sent) <= now()) {
        size_t length = run->load->lengths[run->sent];
        int writer = run->load->writers[run->sent % run->load->writer_count];
        int status = reference_websocket_send(writer, run->unsent, length);
        if (status < 0) return status;
        run->unsent += length;
        run->sent++;
    }
    return 0;
}

static int take_ack(struct member *writer) {
    struct run *run = writer->run;
    int frame = writer->writer + writer->answered++ * run->load->writer_count;
    if (frame >= run->load->frame_count) return -EPROTO;
    run->acks[frame] = now() - due(run, frame);
    run->acked++;
    return 0;
}

static int take_marks(struct member *reader, const uint8_t *text, size_t length) {
    struct run *run = reader->run;
    const uint8_t *end = text + length;
    double time = now();
    while ((text = memmem(text, (size_t)(end - text), "mark-", 5)) && end - text >= 13) {
        int frame = 0;
        for (int i = 5; i < 13; i++) frame = frame * 10 + (text[i] - '0');
        text += 13;
        if (frame < 0 || frame >= run->load->frame_count) return -EPROTO;
        uint8_t bit = (uint8_t)(1 << frame % 8);
        if (reader->got[frame / 8] & bit) continue;
        reader->got[frame / 8] |= bit;
        if (run->arrived == run->load->arrival_count) return -EPROTO;
        run->arrivals[run->arrived++] = time - due(run, frame);
    }
    return 0;
}

static int take(void *context, const uint8_t *text, size_t length) {
    struct member *member = context;
    if (STREAM_IS(text, length, "{\"type\":\"download\"")) return member->got ? take_marks(member, text, length) : 0;
    if (member->writer >= 0 && STREAM_IS(text, length, "{\"type\":\"ack\"")) return take_ack(member);
    return -EPROTO;
}

static struct timespec until(double time) {
    double seconds = time - now();
    if (seconds < 0) seconds = 0;
    if (seconds > 0.2) seconds = 0.2;
    return (struct timespec){.tv_nsec = (long)(seconds * 1e9)};
}

static int offer(struct run *run, struct member *members, int poll, int timeout_seconds) {
    const struct reference_load *load = run->load;
    struct epoll_event events[256];
    double end = run->begin + load->frame_count / load->per_second + timeout_seconds;
    int status = 0;
    while (run->acked < load->frame_count || run->arrived < load->arrival_count) {
        if ((status = send_due(run)) < 0) return status;
        struct timespec pause = until(run->sent < load->frame_count ? due(run, run->sent) : end);
        int ready = epoll_pwait2(poll, events, 256, &pause, NULL);
        if (now() > end) return -ETIMEDOUT;
        for (int k = 0; k < ready; k++) {
            struct member *member = &members[events[k].data.u32];
            if ((status = stream_receive(&member->stream, take, member)) < 0) return status;
        }
    }
    return 0;
}

int reference_offer(const struct reference_load *load, int timeout_seconds, double *acks, double *arrivals) {
    int count = load->writer_count + load->reader_count, status = 0;
    struct run run = {.load = load, .acks = acks, .arrivals = arrivals, .unsent = load->frames};
    struct member *members = calloc((size_t)count, sizeof *members);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (!members) status = -ENOMEM;
    else if (poll < 0) status = -errno;
    for (int i = 0; i < count && status == 0; i++) {
        bool writes = i < load->writer_count;
        int descriptor = writes ? load->writers[i] : load->readers[i - load->writer_count];
        members[i].run = &run;
        members[i].writer = writes ? i : -1;
        if (!writes && !(members[i].got = calloc((size_t)load->frame_count / 8 + 1, 1))) status = -ENOMEM;
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        if (status == 0) status = stream_open(&members[i].stream, descriptor);
        if (status == 0 && epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) < 0) status = -errno;
    }
    run.begin = now();
    if (status == 0) status = offer(&run, members, poll, timeout_seconds);
    for (int i = 0; members && i < count; i++) {
        if (members[i].stream.buffer) stream_close(&members[i].stream);
        free(members[i].got);
    }
    free(members);
    if (poll >= 0) close(poll);
    return status;
}
