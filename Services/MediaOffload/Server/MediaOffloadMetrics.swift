import Metrics

/// The metrics of media offload.
enum MediaOffloadMetrics {
    static let offloaded = Counter(
        label: "media_offloaded_total", help: "Binaries that were moved out of documents.")
    static let offloadedBytes = Counter(
        label: "media_offloaded_bytes_total", help: "Bytes that were moved out of documents.")
    static let removed = Counter(label: "media_removed_total", help: "Objects that no document referred to any more.")
    static let failedThumbnails = Counter(
        label: "media_failed_thumbnails_total", help: "Pictures of which no thumbnail could be made.")
    static let offloadSeconds = Timer(
        label: "media_offload_seconds", help: "Time from the reading of a document to its link.")
    static let resentJobs = Counter(
        label: "media_resent_jobs_total", help: "Jobs that were sent again because they had been open for long.")
    static let droppedJobs = Counter(
        label: "media_dropped_jobs_total", help: "Jobs that can't be done; the binary stays in its document.")
    static let storageFailures = Counter(
        label: "media_storage_failures_total", help: "Calls of the object store that failed.")
    static let opened = MetricFamily<Counter>(
        label: "media_opened_total", help: "Requests for media, by how they ended.", dimensions: ["result"])
}
