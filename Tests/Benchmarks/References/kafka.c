#include "clock.h"
#include "kafka_client.h"
#include "references.h"

#include <string.h>

static rd_kafka_t *client(rd_kafka_type_t type, const char *bootstrap, const char *const settings[][2]) {
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool is_set = rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap, error, sizeof error) == RD_KAFKA_CONF_OK
        && rd_kafka_conf_set(conf, "socket.nagle.disable", "true", error, sizeof error) == RD_KAFKA_CONF_OK;
    for (int i = 0; is_set && settings[i][0]; i++)
        is_set = rd_kafka_conf_set(conf, settings[i][0], settings[i][1], error, sizeof error) == RD_KAFKA_CONF_OK;
    rd_kafka_t *made = is_set ? rd_kafka_new(type, conf, error, sizeof error) : NULL;
    if (!made) rd_kafka_conf_destroy(conf);
    return made;
}

rd_kafka_t *kafka_producer(const char *bootstrap) {
    static const char *const settings[][2] = {
        {"linger.ms", "0"}, {"acks", "all"}, {"enable.idempotence", "true"}, {"compression.codec", "lz4"}, {NULL, NULL}};
    return client(RD_KAFKA_PRODUCER, bootstrap, settings);
}

rd_kafka_t *kafka_consumer(const char *bootstrap, bool is_embedded) {
    const char *const settings[][2] = {
        {"group.id", "bench"},
        {"enable.auto.commit", "false"},
        {"queued.max.messages.kbytes", "16384"},
        {is_embedded ? "fetch.wait.max.ms" : NULL, "5"},
        {NULL, NULL}};
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, bootstrap, settings);
    if (consumer) rd_kafka_poll_set_consumer(consumer);
    return consumer;
}

bool kafka_read(rd_kafka_t *consumer, const char *topic, int64_t from) {
    int64_t low, high;
    if (rd_kafka_query_watermark_offsets(consumer, topic, 0, &low, &high, 10000) != RD_KAFKA_RESP_ERR_NO_ERROR)
        return false;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic, 0)->offset = from == RD_KAFKA_OFFSET_END ? high : low;
    bool is_assigned = rd_kafka_assign(consumer, list) == RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_topic_partition_list_destroy(list);
    return is_assigned;
}

static bool is_sent(rd_kafka_t *producer, const char *topic, int number, const uint8_t *value, size_t length) {
    for (;;) {
        rd_kafka_resp_err_t error = rd_kafka_producev(
            producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY(&number, sizeof number), RD_KAFKA_V_VALUE((void *)value, length),
            RD_KAFKA_V_HEADER("ce_id", "6570a1", 6), RD_KAFKA_V_HEADER("ce_type", "partita.bench", 13), RD_KAFKA_V_END);
        if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) return error == RD_KAFKA_RESP_ERR_NO_ERROR;
        rd_kafka_poll(producer, 10);
    }
}

double reference_kafka_produce(
    const char *bootstrap, const char *topic, const uint8_t *value, size_t length, int count, int window) {
    rd_kafka_t *producer = kafka_producer(bootstrap);
    if (!producer) return -1;
    // The first message brings connection and metadata.
    bool succeeds = is_sent(producer, topic, 0, value, length)
        && rd_kafka_flush(producer, 10000) == RD_KAFKA_RESP_ERR_NO_ERROR;
    double start = now();
    for (int i = 0; succeeds && i < count; i++) {
        succeeds = is_sent(producer, topic, i, value, length);
        while (rd_kafka_outq_len(producer) >= window) rd_kafka_poll(producer, 10);
    }
    succeeds = succeeds && rd_kafka_flush(producer, 60000) == RD_KAFKA_RESP_ERR_NO_ERROR;
    double seconds = now() - start;
    rd_kafka_destroy(producer);
    return succeeds ? seconds : -1;
}

double reference_kafka_consume(const char *bootstrap, const char *topic, int count, bool is_embedded) {
    rd_kafka_t *consumer = kafka_consumer(bootstrap, is_embedded);
    if (!consumer) return -1;
    bool succeeds = kafka_read(consumer, topic, RD_KAFKA_OFFSET_BEGINNING);
    double start = 0;
    size_t bytes = 0;
    for (int i = 0; succeeds && i < count; i++) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, 20000);
        succeeds = message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
        if (i == 0) start = now();
        if (succeeds) {
            rd_kafka_headers_t *headers;
            const void *value;
            size_t length;
            if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR
                && rd_kafka_header_get_last(headers, "ce_type", &value, &length) == RD_KAFKA_RESP_ERR_NO_ERROR)
                bytes += length;
            bytes += message->key_len + message->len;
        }
        if (message) rd_kafka_message_destroy(message);
    }
    double seconds = now() - start;
    rd_kafka_consumer_close(consumer);
    rd_kafka_destroy(consumer);
    return succeeds && bytes > 0 ? seconds : -1;
}
