import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import Logging

/// Adapts a service's `ChangeHandler` to the event stream: skips changes without effect by their headers, loads large changes from
/// their change rows, and records what was handled.
struct ChangeAdapter<Handler: ChangeHandler>: EventHandler {
    let handler: Handler
    let source: any GapSource
    let recorder: ChangeRecorder
    let backlog: ChangeBacklog
    /// Admits batches with large changes, of one app half of them: lanes are many, and each of them may load as much.
    let largeBatches = FairGate<ExactText>(places: 8, waiting: 0)
    let logger: Logger

    func lane(of event: ReceivedEvent<DocumentChangesEvent>) -> String { handler.lane(of: event) }

    func share(of event: ReceivedEvent<DocumentChangesEvent>) -> String { handler.share(of: event) }
    func member(of event: ReceivedEvent<DocumentChangesEvent>) -> String? { handler.member(of: event) }

    func assigned(isAll: Bool) async { await handler.assigned(isAll: isAll) }

    func skipped(_ messages: [KafkaMessage]) async -> [Bool] {
        let notices = ChangeNotices(messages)
        await checkFirsts(notices)
        let concerned: ConcernedCollections
        do {
            concerned = try await handler.concern(of: notices.apps)
        } catch {
            logger.debug("it is unknown which changes have an effect, all are read", metadata: ["error": "\(error)"])
            return []
        }
        let (skipped, changes) = notices.outside(of: concerned, isBehind: backlog.contains)
        recorder.note(changes)
        return skipped
    }

    /// Checks the first change of each partition: it must not be handled before older ones that were deferred, by this process before
    /// a restart or by another process.
    private func checkFirsts(_ notices: ChangeNotices) async {
        let unchecked = backlog.unchecked(notices.partitions)
        guard !unchecked.isEmpty else { return }
        var progress: [PartitionKey: HandledEvents.Progress]?
        do {
            progress = try await recorder.progress(unchecked)
        } catch {
            logger.debug("it is unknown what is handled, changes are read later", metadata: ["error": "\(error)"])
        }
        backlog.check(notices.firsts(of: Set(unchecked)), progress)
    }

    /// The handler is called as soon as the large changes that were loaded have so many bytes of documents, which take several times as
    /// much in memory. A batch has a hundred changes, whose messages only name them.
    private static var loadedBytes: Int64 { 4 << 20 }

    func handle(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        let events = try await present(events)
        if events.isEmpty { return }
        // A batch is of one lane, and a lane of one app.
        let app = events.lazy.compactMap { event in
            if case .large(let large) = event.payload { ExactText(large.app) } else { nil }
        }.first
        guard let app else { return try await pass(events) }
        // The lanes bound how many wait.
        try await largeBatches.enter(app, isCounted: false)
        defer { largeBatches.leave(app) }
        try await pass(events)
    }

    /// Returns the events without those of changes that the database has lost.
    private func present(
        _ events: [ReceivedEvent<DocumentChangesEvent>]
    ) async throws -> [ReceivedEvent<DocumentChangesEvent>] {
        let areLost = try await source.areLost(
            events.map { (.init(app: $0.payload.app, partition: $0.payload.partition), $0.payload.revision) })
        guard areLost.contains(true) else { return events }
        let present = zip(events, areLost).filter { !$1 }.map(\.0)
        logger.notice(
            "events of changes that the database has lost are skipped",
            metadata: ["count": "\(events.count - present.count)", "event.id": "\(events[0].attributes.id)"])
        return present
    }

    private func pass(_ events: [ReceivedEvent<DocumentChangesEvent>]) async throws {
        var changes: [ReceivedEvent<DocumentChangesEvent>] = []
        var loaded: Int64 = 0
        for var event in events {
            switch event.payload {
            case .change: changes.append(event)
            case .head: continue
            case .large(let large):
                if loaded > 0, loaded + large.size > Self.loadedBytes {
                    // If a later part of the batch fails, these are delivered again, as after a crash.
                    try await handler.handle(changes)
                    changes = []
                    loaded = 0
                }
                let key = PartitionKey(app: large.app, partition: large.partition)
                let found = try await source.changes(key, after: large.revision.number - 1, limit: 1).first
                guard let found, found.revision == large.revision else {
                    // It is older than the retention of change rows.
                    logger.error(
                        "a change is no longer kept and is skipped",
                        metadata: [
                            "app.id": "\(large.app)", "partition.id": "\(large.partition)",
                            "revision": "\(large.revision)",
                        ])
                    continue
                }
                event.payload = .change(found)
                changes.append(event)
                loaded += large.size
            }
        }
        if !changes.isEmpty { try await handler.handle(changes) }
        recorder.note(events)
    }

    func decide(
        _ error: any Error, on event: ReceivedEvent<DocumentChangesEvent>, attempts: Int
    ) async -> FailureDecision {
        await handler.decide(error, on: event, attempts: attempts)
    }

    func deadLetter(_ letter: DeadLetter<DocumentChangesEvent>) async throws {
        try await handler.deadLetter(letter)
        if let event = letter.event { recorder.note([event]) }
    }
}
