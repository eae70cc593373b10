/// librdkafka's clients with the settings that Partita's have.
#ifndef PARTITA_REFERENCES_KAFKA_CLIENT_H
#define PARTITA_REFERENCES_KAFKA_CLIENT_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>

/// An idempotent producer that sends at once. NULL if it can't be made.
rd_kafka_t *kafka_producer(const char *bootstrap);

/// A consumer without a group. NULL if it can't be made.
rd_kafka_t *kafka_consumer(const char *bootstrap, bool is_embedded);

/// Reads the topic's partition 0, from its beginning or from where it ends now.
bool kafka_read(rd_kafka_t *consumer, const char *topic, int64_t from);

#endif
