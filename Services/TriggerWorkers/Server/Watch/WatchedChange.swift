import ChangeStream
import DocumentModel
import EventLoop
import EventTopics
import FunctionProtocol

/// A change of a watched collection, which all streams share: it is decoded once, and its text for those who see all of it is made
/// once.
final class WatchedChange: Sendable {
    /// The names of MongoDB's change events; the others tell partitions, revisions and devices, which may be hidden.
    private static let names: Set<String> = [
        "operationType", "clusterTime", "wallTime", "ns", "fullDocument", "documentKey", "updateDescription",
    ]

    /// The changed document's `_id`.
    let id: Value
    /// The approximate number of bytes that it takes in memory while it waits.
    let size: Int
    private let source: WatchedChangeSource
    private let whole = Locked<ServerSentEvent.Data?>(nil)
    private let retained: RetainedBytes

    init(_ source: WatchedChangeSource, id: Value, size: Int, retained: RetainedBytes) {
        self.source = source
        self.id = id
        self.size = size
        self.retained = retained
        retained.add(size)
    }

    deinit { retained.remove(size) }

    /// The change with its documents.
    /// - Throws: `WatchEnd` when it is no longer kept; errors of the database.
    func event() async throws -> ChangeEvent { try await source.event() }

    /// The event as a client gets it, without `_id`.
    func document(_ change: ChangeEvent) -> Document {
        var event: Document = [:]
        event.fields = change.encoded().fields.filter { Self.names.contains($0.key) }
        return event
    }

    /// The data of the event for the streams whose users see all of the change.
    func wholeData(_ change: ChangeEvent) -> ServerSentEvent.Data {
        if let data = whole.withLock({ $0 }) { return data }
        let data = ServerSentEvent.Data(document(change))
        whole.withLock { $0 = data }
        return data
    }
}
