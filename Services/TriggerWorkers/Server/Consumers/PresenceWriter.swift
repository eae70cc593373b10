import AppRegistry
import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Logging
import Postgres
import ServiceEngines

/// Writes the app's presence field: which flip is in it is counted in the same transaction, so that an older one writes nothing.
struct PresenceWriter: EventHandler {
    let apps: AppDirectory
    let store: DocumentStore
    let shutOut: ShutOutTable
    let logger: Logger

    private struct Stale: Error {}
    /// The user's document isn't there yet: the trigger that inserts it may be on its way.
    private struct NoDocument: Error {}

    func handle(_ events: [ReceivedEvent<PresenceEvent>]) async throws {
        // One lane is one user: the newest flip says it all.
        guard let event = events.map(\.payload).filter({ $0.state != .said }).max(by: { $0.version < $1.version }),
            let field = apps.app(event.app)?.definition.presence
        else { return }
        var set: Document = [field.field: .string(event.isUserOnline ? field.online : field.offline)]
        if let lastSeen = field.lastSeenField, !event.isUserOnline { set[lastSeen] = .date(event.lastSeen) }
        let update: Document = ["$set": .document(set)]
        do {
            // A flip that found no document leaves no version behind: it is tried again.
            try await store.withTransaction(
                app: event.app,
                beforeCommit: { transaction in
                    let rows = try await transaction.query(
                        """
                        insert into partita.presence_written as p (app, user_id, version, online_device) values ($1, $2, $3, $4)
                        on conflict (app, user_id) do update set
                            version = excluded.version, online_device = excluded.online_device
                        where p.version < excluded.version
                        returning version
                        """,
                        [
                            .text(event.app), .text(event.user), .int(event.version),
                            event.isUserOnline ? .text(event.device) : .null,
                        ])
                    if rows.isEmpty { throw Stale() }
                }
            ) { session in
                let result = try await session.collection(field.collection, database: field.database).updateOne(
                    [field.userField: .string(event.user)], .document(update))
                if result.matchedCount == 0 { throw NoDocument() }
            }
        } catch is Stale {
            return
        } catch let error as NoDocument {
            // With a deleted account the document goes as well.
            guard try await shutOut.isDeleted(event.user, app: event.app) else { throw error }
        }
    }

    /// An app may have users without a document: after a few seconds nobody waits for one.
    func decide(_ error: any Error, on event: ReceivedEvent<PresenceEvent>, attempts: Int) async -> FailureDecision {
        guard error is NoDocument else { return .retry }
        guard attempts >= 8 else { return .wait }
        TriggerMetrics.presenceWithoutDocument.increment()
        return .passOver
    }

    func deadLetter(_ letter: DeadLetter<PresenceEvent>) async throws {
        logger.error("a flip can't be read", metadata: ["error": "\(letter.error)"])
    }
}
