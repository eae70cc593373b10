/// The clock of the references.
#ifndef PARTITA_REFERENCES_CLOCK_H
#define PARTITA_REFERENCES_CLOCK_H

#include <time.h>

/// Seconds of a clock that only goes forward.
static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

#endif
