#include "clock.h"
#include "kafka_client.h"
#include "references.h"

#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reference_latency {
    PGconn *postgres;
    rd_kafka_t *producer, *consumer;
    rd_kafka_topic_t *topic;
    long number;
};

// As long as the document that the benchmark's device inserts.
static const char body[] =
    "{\"_id\":\"note-1\",\"partition\":\"latency-00000000-0000-0000-0000-000000000000\",\"text\":\"A message of some length, "
    "as people write them when they have something to say to each other.\",\"number\":1,\"at\":{\"$date\":1700000000001}}";

static bool succeeded(PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK;
}

struct reference_latency *reference_latency_open(
    const char *postgres, const char *bootstrap, const char *topic, bool is_embedded) {
    struct reference_latency *handle = calloc(1, sizeof *handle);
    if (!handle) return NULL;
    handle->postgres = PQconnectdb(postgres);
    handle->producer = kafka_producer(bootstrap);
    handle->consumer = kafka_consumer(bootstrap, is_embedded);
    if (PQstatus(handle->postgres) == CONNECTION_OK && handle->producer && handle->consumer
        && succeeded(PQexec(handle->postgres, "create table notes (_id text primary key, body json not null)"))
        && succeeded(PQprepare(handle->postgres, "insert", "insert into notes values ($1, $2::json)", 2, NULL))
        && (handle->topic = rd_kafka_topic_new(handle->producer, topic, NULL))
        && kafka_read(handle->consumer, topic, RD_KAFKA_OFFSET_END))
        return handle;
    reference_latency_close(handle);
    return NULL;
}

static bool commit(struct reference_latency *handle, long number) {
    char id[64];
    snprintf(id, sizeof id, "note-%ld", number);
    const char *parameters[2] = {id, body};
    return succeeded(PQexecPrepared(handle->postgres, "insert", 2, parameters, NULL, NULL, 0));
}

static bool send_and_receive(struct reference_latency *handle, long number) {
    if (rd_kafka_produce(
            handle->topic, 0, RD_KAFKA_MSG_F_COPY, (void *)body, sizeof body - 1, &number, sizeof number, NULL) != 0)
        return false;
    for (;;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(handle->consumer, 10000);
        if (!message) return false;
        bool is_it = message->err == RD_KAFKA_RESP_ERR_NO_ERROR && message->key_len == sizeof number
            && memcmp(message->key, &number, sizeof number) == 0;
        rd_kafka_message_destroy(message);
        if (is_it) return true;
    }
}

double reference_latency_commit(struct reference_latency *handle) {
    double start = now();
    return commit(handle, ++handle->number) ? now() - start : -1;
}

double reference_latency_measure(struct reference_latency *handle) {
    long number = ++handle->number;
    double start = now();
    if (!commit(handle, number) || !send_and_receive(handle, number)) return -1;
    double seconds = now() - start;
    rd_kafka_poll(handle->producer, 0);
    return seconds;
}

void reference_latency_close(struct reference_latency *handle) {
    if (handle->postgres) PQfinish(handle->postgres);
    if (handle->topic) rd_kafka_topic_destroy(handle->topic);
    if (handle->producer) rd_kafka_destroy(handle->producer);
    if (handle->consumer) {
        rd_kafka_consumer_close(handle->consumer);
        rd_kafka_destroy(handle->consumer);
    }
    free(handle);
}
