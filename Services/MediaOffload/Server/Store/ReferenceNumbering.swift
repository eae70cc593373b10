import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Lifecycle
import Logging

/// Gives the references of earlier versions the insertion numbers of their documents, once; then it only waits for the end.
struct ReferenceNumbering: Service {
    let table: MediaTable
    let store: DocumentStore
    let apps: AppDirectory
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation, or when all are numbered
            var backoff = RetryBackoff(RetrySchedule(first: .seconds(1), limit: .seconds(60)))
            var failures = FailureChanges()
            while true {
                do {
                    if try await numberSome() == 0 { break }
                } catch let error where !(error is CancellationError) {
                    logger.log(
                        level: failures.isNew("\(error)") ? .warning : .debug, "references can't be numbered yet",
                        metadata: ["error": "\(error)"])
                    try await Task.sleep(for: backoff.next())  // Postgres doesn't tell when it works again
                }
            }
        }
        // A service that returns before the shutdown has failed.
        try? await gracefulShutdown()  // a cancellation ends it as well
    }

    /// - Returns: the number of documents whose references were numbered.
    func numberSome() async throws -> Int {
        var count = 0
        var unreadable: AppDirectory.Unreadable?
        for (app, namespace, ids) in try await table.unnumbered(limit: 1000) {
            // Its documents are there: without its version the store doesn't know their table.
            do { try apps.requireReadable([ExactText(app)]) } catch {
                unreadable = error
                continue
            }
            // A removed app's documents are in no table that the store knows.
            let collection = store.collection(namespace.collection, database: namespace.database, app: app)
            let numbers = apps.app(app) == nil ? [:] : try await collection.insertionNumbers(of: ids)
            try await table.number(ids, by: numbers, app: app, namespace: namespace)
            count += ids.count
        }
        if let unreadable { throw unreadable }
        return count
    }
}
