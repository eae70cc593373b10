#ifndef C_KAFKA_WAIT_H
#define C_KAFKA_WAIT_H

/// Nothing to call: its `cnd_timedwait` stands before libc's for librdkafka (wait.c says why).

#endif
