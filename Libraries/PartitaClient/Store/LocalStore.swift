import DocumentModel
import Foundation
import SQLite
import SyncEngine
import SyncProtocol

/// A user's documents and writes on this device, in one SQLite file.
///
/// It is called on the database's own executor, on which `SyncClient` runs, too: so its calls are synchronous, and what changes
/// together is one transaction. A process that is killed at any time finds its store in the state of the last transaction.
struct LocalStore: Sendable {
    let database: SQLiteDatabase

    /// Opens the file, or creates it.
    static func open(path: String) async throws -> LocalStore {
        do {
            let database = try await SQLiteDatabase.open(path: path)
            try await database.migrate(StoreSchema.migrations)
            return LocalStore(database: database)
        } catch {
            throw PartitaError(code: .store, message: "\(error)")
        }
    }

    /// Closes the file; every later call fails.
    func close() async { await database.close() }

    /// Runs on the database; the caller is on its executor.
    func read<T: Sendable>(_ body: @Sendable (isolated SQLiteDatabase) throws -> T) throws -> T {
        do {
            return try database.assumeIsolated { try body($0) }
        } catch let error as SQLiteError {
            throw PartitaError(code: .store, message: "\(error)")
        }
    }

    /// Runs on the database in a transaction; the caller is on its executor.
    @discardableResult
    func transaction<T: Sendable>(_ body: @Sendable (isolated SQLiteDatabase) throws -> T) throws -> T {
        try read { try $0.transaction(body) }
    }

    /// The device's id and the last reading of its clock; creates an id for a new store, and deletes kept changesets that are too
    /// old.
    ///
    /// - Parameter forgetBefore: The time before which they are too old, in milliseconds since 1970.
    func prepare(freshDevice: String, forgetBefore: Int64) async throws -> (device: String, clock: HybridTime) {
        let store = self
        let (device, bits) = try await database.transaction { _ in
            let device = try store.setting("device") ?? freshDevice
            try store.set("device", device)
            try store.forgetRetained(before: forgetBefore)
            return (device, try store.setting("clock").flatMap { Int64($0) } ?? 0)
        }
        return (device, HybridTime(bits: bits))
    }

    // MARK: Settings

    func setting(_ name: String) throws -> String? {
        try read { try $0.query("SELECT value FROM settings WHERE name = ?", [.text(name)]).first?.decode(0) }
    }

    func set(_ name: String, _ value: String) throws {
        try read { database in
            _ = try database.execute("REPLACE INTO settings(name, value) VALUES (?, ?)", [.text(name), .text(value)])
        }
    }

    // MARK: Partitions

    /// The stored bookkeeping of a partition; that of a new partition if there is none.
    func partition(_ partition: Partition) throws -> DevicePartition {
        try read { database in
            let pending = try Self.pending(partition, in: database)
            let sql = """
                SELECT checkpoint, received, staging, replacing, contained_version, staged_version, next_version, access,
                    resume
                FROM partitions WHERE partition = ?
                """
            guard let row = try database.query(sql, [.text(partition.text)]).first else { return DevicePartition() }
            return DevicePartition(
                checkpoint: try row.revision(0), received: try row.revision(1), resumeToken: try row.decode(8),
                isStaging: try row.decode(2), isReplacing: try row.decode(3), containedVersion: try row.decode(4),
                stagedVersion: try row.decode(5), nextVersion: try row.decode(6), pending: pending,
                access: Access(rawValue: try row.decode(7)) ?? .none)
        }
    }

    /// Every partition that the store knows.
    func partitions() throws -> [Partition] {
        try read { database in
            try database.query("SELECT partition FROM partitions ORDER BY partition").map {
                Partition(text: try $0.decode(0))
            }
        }
    }

    private static func pending(
        _ partition: Partition, in database: isolated SQLiteDatabase
    ) throws -> [PendingChangeset] {
        let sql = """
            SELECT changeset, revision, contained, reofferable, version FROM pending WHERE partition = ? ORDER BY version
            """
        return try database.query(sql, [.text(partition.text)]).map { row in
            let revision: String? = try row.decode(1)
            var changeset = try ChangesetText.decode(try row.decode(0))
            changeset.version = try row.decode(4)
            return PendingChangeset(
                changeset: changeset,
                state: try revision.map { .acknowledged(try Revision.stored($0)) } ?? .waiting,
                isContained: try row.decode(2), isReofferable: try row.decode(3))
        }
    }
}

/// The stored form of a changeset: the upload frame that carries it.
enum ChangesetText {
    /// Versions below 1, of acknowledged changesets under a former id, are only in their column, not in the frame.
    static func encode(_ changeset: Changeset, _ partition: Partition) -> [UInt8] {
        var changeset = changeset
        changeset.version = max(changeset.version, 1)
        return DeviceFrame.upload(.init(partition: partition, sentAt: 0, changesets: [changeset])).encoded()
    }

    /// Checks that the server, and the device after a restart, can read a changeset: otherwise it would block all that come later.
    /// - Throws: `badWrite`.
    static func check(_ changeset: Changeset, _ partition: Partition) throws(PartitaError) {
        do {
            _ = try DeviceFrame(encode(changeset, partition), limit: .max)
        } catch {
            throw PartitaError(code: .badWrite, message: "the write can't be sent: \(error.message)")
        }
    }

    static func decode(_ bytes: [UInt8]) throws -> Changeset {
        guard case .upload(let upload) = try DeviceFrame(bytes, limit: .max), let changeset = upload.changesets.first
        else { throw PartitaError(code: .store, message: "a stored changeset can't be read") }
        return changeset
    }
}

extension SQLiteRow {
    func revision(_ index: Int) throws -> Revision { try Revision.stored(try decode(index)) }
}

extension Revision {
    static func stored(_ text: String) throws -> Revision {
        guard let revision = Revision(text) else {
            throw PartitaError(code: .store, message: "a stored revision can't be read")
        }
        return revision
    }
}
