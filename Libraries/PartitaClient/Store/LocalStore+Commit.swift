import DocumentModel
import SQLite
import SyncEngine

/// The documents whose visible state a commit may have changed.
enum ShownChanges: Sendable {
    case some(Set<DocumentKey>)
    case all
}

extension LocalStore {
    /// Performs the effects of the bookkeeping, and saves it, in one transaction.
    ///
    /// - Parameters:
    ///   - before: The bookkeeping that is stored now.
    ///   - now: Milliseconds since 1970.
    func commit(
        _ partition: Partition, from before: DevicePartition, to after: DevicePartition,
        _ effects: [DevicePartition.Effect], now: Int64
    ) throws -> ShownChanges {
        try transaction { database in
            var commit = StoreCommit(partition: partition, after: after, now: now)
            for effect in effects { try commit.perform(effect, in: database) }
            try commit.save(pending: before.pending, in: database)
            try commit.saveBookkeeping(in: database)
            return commit.isEverythingChanged ? .all : .some(commit.changed)
        }
    }
}

/// One transaction of a partition.
private struct StoreCommit {
    let partition: Partition
    let after: DevicePartition
    let now: Int64
    var changed: Set<DocumentKey> = []
    var isEverythingChanged = false

    private var name: SQLiteValue { .text(partition.text) }

    mutating func perform(_ effect: DevicePartition.Effect, in database: isolated SQLiteDatabase) throws {
        switch effect {
        case .clearStaged: _ = try database.execute("DELETE FROM staged WHERE partition = ?", [name])
        case .stage(let changes):
            for change in changes {
                guard let key = change.key else { continue }
                _ = try database.execute(
                    "REPLACE INTO staged(partition, collection, id, body, revision, incarnation) VALUES (?, ?, ?, ?, ?, ?)",
                    row(key, change))
            }
        case .publishStaged(let replacing):
            try publish(replacing: replacing, in: database)
        case .apply(let changes):
            for change in changes { try apply(change, in: database) }
        case .rebase(let keys):
            for key in keys { try rebase(key, in: database) }
        case .report: break
        case .reject(let changeset, let rejection):
            _ = try database.execute(
                """
                INSERT INTO rejected(partition, version, changeset, code, reason, path, rule, rejected_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    name, .integer(changeset.version), .blob(ChangesetText.encode(changeset, partition)),
                    .text(rejection.code.rawValue), .text(rejection.reason), SQLiteValue(rejection.path),
                    SQLiteValue(rejection.rule), .integer(now),
                ])
        case .retain(let changeset):
            _ = try database.execute(
                "REPLACE INTO retained(partition, version, changeset, acknowledged_at) VALUES (?, ?, ?, ?)",
                [
                    name, .integer(changeset.version), .blob(ChangesetText.encode(changeset, partition)), .integer(now),
                ])
        case .forgetRetained(let version):
            _ = try database.execute(
                "DELETE FROM retained WHERE partition = ? AND version > ?", [name, .integer(version)])
        case .wipe:
            for table in ["documents", "staged", "shown", "retained"] {
                _ = try database.execute("DELETE FROM \(table) WHERE partition = ?", [name])
            }
            isEverythingChanged = true
        }
    }

    private func row(_ key: DocumentKey, _ change: DocumentChange) -> [SQLiteValue] {
        [
            name, .text(key.collection), .text(key.idText),
            SQLiteValue(change.document.map { ExtendedJSON.print($0, mode: .exact) }),
            .text(change.revision.description), .text(change.incarnation.description),
        ]
    }

    private mutating func apply(_ change: DocumentChange, in database: isolated SQLiteDatabase) throws {
        guard let key = change.key else { return }
        changed.insert(key)
        if change.document == nil {
            _ = try database.execute(
                "DELETE FROM documents WHERE partition = ? AND collection = ? AND id = ?",
                [name, .text(key.collection), .text(key.idText)])
        } else {
            _ = try database.execute(
                "REPLACE INTO documents(partition, collection, id, body, revision, incarnation) VALUES (?, ?, ?, ?, ?, ?)",
                row(key, change))
        }
    }

    private mutating func publish(replacing: Bool, in database: isolated SQLiteDatabase) throws {
        if replacing {
            _ = try database.execute("DELETE FROM documents WHERE partition = ?", [name])
        } else {
            _ = try database.execute(
                """
                DELETE FROM documents WHERE partition = ?1 AND (collection, id) IN (
                    SELECT collection, id FROM staged WHERE partition = ?1 AND body IS NULL)
                """, [name])
        }
        _ = try database.execute(
            """
            REPLACE INTO documents(partition, collection, id, body, revision, incarnation)
            SELECT partition, collection, id, body, revision, incarnation FROM staged
            WHERE partition = ? AND body IS NOT NULL
            """, [name])
        _ = try database.execute("DELETE FROM staged WHERE partition = ?", [name])
        isEverythingChanged = true
    }

    /// Recomputes the view of a document that is shown in place of the server's version.
    private mutating func rebase(_ key: DocumentKey, in database: isolated SQLiteDatabase) throws {
        changed.insert(key)
        let place: [SQLiteValue] = [name, .text(key.collection), .text(key.idText)]
        let operations = after.overlay(key)
        if operations.isEmpty {
            _ = try database.execute("DELETE FROM shown WHERE partition = ? AND collection = ? AND id = ?", place)
            return
        }
        let server = try LocalStore.serverDocument(partition, key, in: database)
        let document = LocalView.document(server: server, operations: operations)
        _ = try database.execute(
            "REPLACE INTO shown(partition, collection, id, body) VALUES (?, ?, ?, ?)",
            place + [SQLiteValue(document.map { ExtendedJSON.print($0, mode: .exact) })])
    }

    // MARK: The bookkeeping

    func saveBookkeeping(in database: isolated SQLiteDatabase) throws {
        _ = try database.execute(
            """
            REPLACE INTO partitions(
                partition, checkpoint, received, staging, replacing, contained_version, staged_version, next_version, access,
                resume)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                name, .text(after.checkpoint.description), .text(after.received.description),
                SQLiteValue(after.isStaging), SQLiteValue(after.isReplacing), .integer(after.containedVersion),
                .integer(after.stagedVersion), .integer(after.nextVersion), .text(after.access.rawValue),
                SQLiteValue(after.resumeToken),
            ])
    }

    /// Saves what has changed since another queue was saved.
    func save(pending before: PendingQueue, in database: isolated SQLiteDatabase) throws {
        let changes = after.pending.changes(since: before) { $0.isSaved(as: $1) }
        for version in changes.removed {
            _ = try database.execute(
                "DELETE FROM pending WHERE partition = ? AND version = ?", [name, .integer(version)])
        }
        for changeset in changes.saved { try save(changeset, in: database) }
    }

    private func save(_ pending: PendingChangeset, in database: isolated SQLiteDatabase) throws {
        _ = try database.execute(
            """
            REPLACE INTO pending(partition, version, changeset, revision, contained, reofferable)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [
                name, .integer(pending.changeset.version), .blob(ChangesetText.encode(pending.changeset, partition)),
                SQLiteValue(pending.revision?.description), SQLiteValue(pending.isContained),
                SQLiteValue(pending.isReofferable),
            ])
    }
}

extension PendingChangeset {
    fileprivate var revision: Revision? { if case .acknowledged(let revision) = state { revision } else { nil } }

    /// Whether both are stored alike: the operations of a version change only when it is uploaded again, and then the revision
    /// changes, too.
    fileprivate func isSaved(as other: PendingChangeset) -> Bool {
        revision == other.revision && isContained == other.isContained && isReofferable == other.isReofferable
            && changeset.clock == other.changeset.clock
            && changeset.operations.elementsEqual(other.changeset.operations) { $0.incarnation == $1.incarnation }
    }
}
