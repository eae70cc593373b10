import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Postgres

/// Collects handled changes in memory, and writes them to Postgres in bulk.
final class ChangeRecorder: Sendable {
    private let handled: HandledEvents
    private let client: PostgresClient
    /// Rings when a handled change was added that isn't written yet.
    let notes = Alarm()
    private let noted = Locked<[(key: PartitionKey, revision: Revision)]>([])

    init(handled: HandledEvents, client: PostgresClient) {
        self.handled = handled
        self.client = client
    }

    func note(_ events: [ReceivedEvent<DocumentChangesEvent>]) {
        note(
            events.compactMap { event in
                if case .head = event.payload { return nil }
                return (.init(app: event.payload.app, partition: event.payload.partition), event.payload.revision)
            })
    }

    func note(_ changes: [(key: PartitionKey, revision: Revision)]) {
        guard !changes.isEmpty else { return }
        noted.withLock { noted in
            noted += changes
            // Postgres was unavailable for long: the sweep finds the changes that are dropped here, and they are handled once more.
            if noted.count > 100_000 { noted.removeFirst(noted.count - 100_000) }
        }
        notes.set()
    }

    /// Reads from Postgres how far the consumer has come in these partitions; changes that aren't written yet don't count.
    func progress(_ keys: [PartitionKey]) async throws -> [PartitionKey: HandledEvents.Progress] {
        try await handled.progress(keys, on: client)
    }

    func flush() async throws {
        let changes = noted.withLock { noted in
            defer { noted = [] }
            return noted
        }
        do {
            for start in stride(from: 0, to: changes.count, by: 5000) {
                try await handled.record(Array(changes[start..<min(start + 5000, changes.count)]), on: client)
            }
        } catch {
            noted.withLock { $0.insert(contentsOf: changes, at: 0) }
            notes.set()
            throw error
        }
    }
}
