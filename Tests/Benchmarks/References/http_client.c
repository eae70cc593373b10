#include "clock.h"
#include "references.h"

#include <curl/curl.h>
#include <stdlib.h>

static size_t take(char *bytes, size_t size, size_t count, void *total) {
    (void)bytes;
    *(size_t *)total += size * count;
    return size * count;
}

double reference_http_get(const char *url, int count, int concurrency, int timeout_seconds) {
    CURLM *multi = curl_multi_init();
    CURL **transfers = calloc((size_t)concurrency, sizeof *transfers);
    size_t bytes = 0;
    int begun = 0, ended = 0, running = 0;
    double start = now();
    for (; begun < concurrency && begun < count; begun++) {
        transfers[begun] = curl_easy_init();
        curl_easy_setopt(transfers[begun], CURLOPT_URL, url);
        curl_easy_setopt(transfers[begun], CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(transfers[begun], CURLOPT_WRITEDATA, &bytes);
        curl_multi_add_handle(multi, transfers[begun]);
    }
    bool succeeds = true;
    while (succeeds && ended < count) {
        if (now() - start > timeout_seconds || curl_multi_perform(multi, &running) != CURLM_OK) succeeds = false;
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left))) {
            CURL *transfer = message->easy_handle;
            long status = 0;
            curl_easy_getinfo(transfer, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result != CURLE_OK || status != 200) succeeds = false;
            curl_multi_remove_handle(multi, transfer);
            ended++;
            if (begun < count) {
                begun++;
                curl_multi_add_handle(multi, transfer);
            }
        }
        if (succeeds && ended < count) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    double seconds = now() - start;
    for (int i = 0; i < concurrency; i++) {
        if (!transfers[i]) continue;
        curl_multi_remove_handle(multi, transfers[i]);
        curl_easy_cleanup(transfers[i]);
    }
    free(transfers);
    curl_multi_cleanup(multi);
    return succeeds && bytes > 0 ? seconds : -1;
}
