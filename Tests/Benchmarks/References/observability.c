#include "clock.h"
#include "references.h"

#include <stdatomic.h>
#include <stdio.h>

double reference_log_lines(const char *path, int count) {
    FILE *file = fopen(path, "w");
    if (!file) return -1;
    double start = now();
    for (int i = 0; i < count; i++) {
        struct timespec time;
        struct tm parts;
        char text[32];
        clock_gettime(CLOCK_REALTIME, &time);
        gmtime_r(&time.tv_sec, &parts);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
        fprintf(
            file,
            "{\"time\":\"%s.%06ldZ\",\"level\":\"info\",\"label\":\"benchmark\",\"message\":\"session opened\","
            "\"metadata\":{\"app\":\"rchat\",\"bytes\":%d,\"partition\":\"conversation=64f0c0ffee00000000000042\"},"
            "\"source\":\"benchmarks/LogLines.swift:20\"}\n",
            text, time.tv_nsec / 1000, i);
    }
    int status = fclose(file);
    return status == 0 ? now() - start : -1;
}

double reference_metric_records(const double *bounds, int bound_count, const double *seconds, int value_count, long count) {
    static _Atomic long counter, buckets[64];
    static _Atomic double sum;
    if (bound_count >= 64) return -1;
    double start = now();
    for (long i = 0; i < count; i++) {
        double value = seconds[i % value_count];
        int index = 0;
        while (index < bound_count && value > bounds[index]) index++;
        atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&buckets[index], 1, memory_order_relaxed);
        double old = atomic_load_explicit(&sum, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(
            &sum, &old, old + value, memory_order_relaxed, memory_order_relaxed)) {}
    }
    return now() - start;
}
