import DocumentModel
import Glibc
import Postgres

/// The progress of the import of one file: a row that is written with each batch, in its transaction.
struct ImportRecord: Sendable {
    enum Phase: String, Sendable { case drop, documents, indexes, done }

    let app: String
    let namespace: ChangeEvent.Namespace
    let digest: String
    var phase: Phase
    /// The offset up to which the documents are committed, in the inflated file.
    var bytes: Int64 = 0
    var inserted: Int64 = 0
    var rejected: Int64 = 0
    /// The size of the file of rejections at that time; its bytes beyond this belong to a batch that wasn't committed.
    var rejectionsSize: Int64 = 0

    private var key: [PostgresValue] {
        [.text(app), .text(namespace.database), .text(namespace.collection), .text(digest)]
    }

    /// Reads the row; `nil` if no import of the file has begun.
    static func read(
        app: String, namespace: ChangeEvent.Namespace, digest: String, on client: PostgresClient
    ) async throws -> ImportRecord? {
        var record = ImportRecord(app: app, namespace: namespace, digest: digest, phase: .documents)
        let rows = try await client.query(
            """
            select phase, bytes, inserted, rejected, rejections_size from partita.imports
            where app = $1 and database = $2 and collection = $3 and digest = $4
            """, record.key)
        guard let row = rows.first else { return nil }
        let (phase, bytes, inserted, rejected, size) = try row.decode((String, Int64, Int64, Int64, Int64).self)
        record.phase = Phase(rawValue: phase) ?? .documents
        (record.bytes, record.inserted, record.rejected, record.rejectionsSize) = (bytes, inserted, rejected, size)
        return record
    }

    /// Creates the row, or resets it.
    func begin(on client: PostgresClient, path: String) async throws {
        try await client.execute(
            """
            insert into partita.imports (app, database, collection, digest, path, phase) values ($1, $2, $3, $4, $5, $6)
            on conflict (app, database, collection, digest) do update set path = excluded.path, phase = excluded.phase,
                bytes = 0, inserted = 0, rejected = 0, rejections_size = 0, started_at = now(), updated_at = now()
            """, key + [.text(path), .text(phase.rawValue)])
    }

    /// Updates the row, which must still be equal to `former`.
    /// - Throws: `DumpError` if another import has written the row since: two concurrent imports of one file would insert it twice.
    func write(over former: ImportRecord, on source: some PostgresQuerying) async throws {
        let written = try await source.execute(
            """
            update partita.imports set phase = $5, bytes = $6, inserted = $7, rejected = $8, rejections_size = $9,
                updated_at = now()
            where app = $1 and database = $2 and collection = $3 and digest = $4 and phase = $10 and bytes = $11
            """,
            key + [
                .text(phase.rawValue), .int(bytes), .int(inserted), .int(rejected), .int(rejectionsSize),
                .text(former.phase.rawValue), .int(former.bytes),
            ])
        guard written == 1 else {
            throw DumpError(
                .alreadyImported, "another import of \(namespace.database).\(namespace.collection) is running")
        }
    }
}

/// Identifies a file, to recognize the one with which an import began.
enum FileDigest {
    private static let piece = 1 << 20

    /// The size and a fingerprint of all bytes: a later dump often has the same size, and the same beginning and end.
    static func of(_ path: String) throws(DumpError) -> String {
        let descriptor = try ByteSource.open(path)
        defer { close(descriptor) }
        var fingerprint = Fingerprint(), size = 0
        var bytes = [UInt8](repeating: 0, count: piece)
        while true {
            let count = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { pread(descriptor, $0, piece, size) } ?? -1
            }
            guard count >= 0 else { throw DumpError.system(.badFile, "can't read", path) }
            if count == 0 { return "\(size)-\(String(fingerprint.value, radix: 16))" }
            fingerprint.add(bytes.prefix(count))
            size += count
        }
    }
}
