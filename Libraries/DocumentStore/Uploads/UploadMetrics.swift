import Metrics
import SyncEngine

/// The metrics of uploads.
struct UploadMetrics: Sendable {
    let batchSize = Histogram(
        label: "document_store_upload_batch_changesets", help: "Changesets that were committed together.",
        buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500])
    let commit = Timer(
        label: "document_store_upload_commit_seconds", help: "From a batch's first statement to its commit.")
    let deferred = Counter(
        label: "document_store_uploads_deferred_total",
        help: "Changesets that left a batch, because a row was locked, or those before them took too long.")
    let heldBack = Counter(
        label: "document_store_uploads_held_back_total",
        help: "Changesets that were refused because those of their user cost too much.")
    let asides = Counter(
        label: "document_store_upload_asides_total",
        help: "Batches that were committed beside their lane: they are large, or their users' changesets cost much.")
    let held = Counter(
        label: "document_store_uploads_held_total",
        help: "Attempts to commit a changeset that failed because the database needs repair.")
    private let acknowledged = Self.results("acknowledged")
    private let rejected = Self.results("rejected")
    private let forked = Self.results("forked")
    private let outOfOrder = Self.results("out_of_order")
    private let undecided = Self.results("undecided")

    private static func results(_ result: String) -> Counter {
        Counter(
            label: "document_store_uploads_total", help: "Answered changesets, by answer.",
            dimensions: [("result", result)])
    }

    func count(_ result: UploadResult) {
        switch result {
        case .acknowledged: acknowledged.increment()
        case .rejected: rejected.increment()
        case .forked: forked.increment()
        case .outOfOrder: outOfOrder.increment()
        case .undecided: undecided.increment()
        }
    }
}
