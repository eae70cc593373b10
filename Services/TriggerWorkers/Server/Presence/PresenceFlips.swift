import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventTopics
import Logging
import Postgres
import ServiceEngines

/// Writes flips to the app's presence field. The version of the written flip is recorded in the same transaction, so that an older
/// flip writes nothing.
///
/// A user may have no document, temporarily or permanently: the flip is recorded then, and written when the user gets a document.
/// The same is done when the document doesn't admit the field, as one whose user has put a string where the field's parent should be.
/// Neither blocks other flips.
struct PresenceFlips: Sendable {
    let apps: AppDirectory
    let store: DocumentStore
    let client: PostgresClient
    let shutOut: ShutOutTable
    let logger: Logger

    /// A flip to write.
    private struct Flip {
        let app: String
        let user: String
        let version: Int64
        /// `nil` when the user is offline.
        let device: String?
        let lastSeen: Int64

        /// Records the flip, as written or unwritten; returns a row unless a newer one was recorded.
        func upsert(isUnwritten: Bool) -> PostgresStatement {
            PostgresStatement(
                """
                insert into partita.presence_written as p (app, user_id, version, online_device, last_seen, is_unwritten)
                values ($1, $2, $3, $4, $5, $6)
                on conflict (app, user_id) do update set
                    version = excluded.version, online_device = excluded.online_device, last_seen = excluded.last_seen,
                    is_unwritten = excluded.is_unwritten
                where p.version < excluded.version
                returning version
                """,
                [
                    .text(app), .text(user), .int(version), PostgresValue(device), .int(lastSeen), .bool(isUnwritten),
                ])
        }

        /// Marks a recorded flip as written; returns a row if it is still the newest, and was unwritten unless it is to be written again.
        func settlement(again: Bool = false) -> PostgresStatement {
            PostgresStatement(
                """
                update partita.presence_written set is_unwritten = false
                where app = $1 and user_id = $2 and version = $3 and (is_unwritten or $4) returning version
                """, [.text(app), .text(user), .int(version), .bool(again)])
        }
    }

    private enum Outcome {
        /// The field has the flip, or that of a newer one.
        case done
        case noDocument
        /// The document stays as it was.
        case refused
    }

    private struct Stale: Error {}
    private struct NoDocument: Error {}

    /// Writes a flip, or records it when the user has no document that admits it.
    /// - Throws: what Postgres throws; `AppDirectory.Unreadable`.
    func write(_ event: PresenceEvent) async throws {
        guard let field = try await field(of: event.app) else { return }
        let flip = Flip(
            app: event.app, user: event.user, version: event.version, device: event.isUserOnline ? event.device : nil,
            lastSeen: event.lastSeen)
        let outcome = try await write(flip, to: field, counting: flip.upsert(isUnwritten: false))
        if outcome == .done { return }
        // The document of a deleted account was deleted as well.
        if try await shutOut.reason(for: flip.user, app: flip.app) == .deleted { return }
        if outcome == .noDocument { TriggerMetrics.presenceWithoutDocument.increment() }
        guard try await !client.query(flip.upsert(isUnwritten: true)).isEmpty, outcome == .noDocument else { return }
        // The change of a document that was created meanwhile may have been handled before the flip was recorded.
        _ = try await write(flip, to: field, counting: flip.settlement())
    }

    /// The app's presence field. A flip, which isn't told again, may come before this process knows the app's first version with one.
    private func field(of app: String) async throws -> PresenceField? {
        if let field = apps.app(app)?.definition.presence { return field }
        try await apps.refresh()
        try apps.requireReadable([ExactText(app)])
        return apps.app(app)?.definition.presence
    }

    /// Writes the recorded flip of the user whose document this change has created. A document that is inserted while the user is
    /// online gets the flip that a former one had, too.
    func write(forDocumentOf change: ChangeEvent) async throws {
        guard let field = apps.app(change.app)?.definition.presence, field.isMade(by: change),
            let document = change.fullDocument, let user = document.value(at: Path(field.userField))?.stringValue,
            !user.utf8.contains(0)  // no user's id, and Postgres can't compare with it
        else { return }
        let lacksFlip =
            change.operationType == .insert && document.value(at: Path(field.field))?.stringValue != field.online
        let rows = try await client.query(
            """
            select version, online_device, last_seen from partita.presence_written
            where app = $1 and user_id = $2 and (is_unwritten or $3 and online_device is not null)
            """, [.text(change.app), .text(user), .bool(lacksFlip)])
        for (version, device, lastSeen) in try rows.decode((Int64, String?, Int64).self) {
            let flip = Flip(app: change.app, user: user, version: version, device: device, lastSeen: lastSeen)
            _ = try await write(flip, to: field, counting: flip.settlement(again: lacksFlip))
        }
    }

    /// - Parameter statement: returns a row when the flip is to be written.
    private func write(
        _ flip: Flip, to field: PresenceField, counting statement: PostgresStatement
    ) async throws -> Outcome {
        var set: Document = [field.field: .string(flip.device != nil ? field.online : field.offline)]
        if let lastSeen = field.lastSeenField, flip.device == nil { set[lastSeen] = .date(flip.lastSeen) }
        let update: Document = ["$set": .document(set)]
        do {
            try await store.withTransaction(
                app: flip.app,
                beforeCommit: { transaction in
                    if try await transaction.query(statement).isEmpty { throw Stale() }
                }
            ) { session in
                let result = try await session.collection(field.collection, database: field.database).updateOne(
                    [field.userField: .string(flip.user)], .document(update))
                if result.matchedCount == 0 { throw NoDocument() }
            }
        } catch is Stale {
            return .done
        } catch is NoDocument {
            return .noDocument
        } catch let error as DocumentStoreError where !error.isTransient {
            TriggerMetrics.presenceRefused.increment()
            logger.warning(
                "a user's document doesn't admit the presence field",
                metadata: ["app.id": "\(flip.app)", "user.id": "\(flip.user)", "error": "\(error)"])
            return .refused
        }
        return .done
    }
}

extension PresenceField {
    /// Whether a change may have given a user a document: it was inserted or replaced, or its user field was changed.
    fileprivate func isMade(by change: ChangeEvent) -> Bool {
        guard change.namespace.database.hasSameBytes(as: database),
            change.namespace.collection.hasSameBytes(as: collection)
        else { return false }
        switch change.operationType {
        case .insert, .replace: return true
        case .update:
            let own = userField.prefix { $0 != "." }
            return change.updateDescription?.updatedFields.fields.contains {
                $0.key.prefix { $0 != "." }.utf8.elementsEqual(own.utf8)
            } ?? false
        default: return false
        }
    }
}
