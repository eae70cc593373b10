import Foundation

/// The description of a backup and its contents: `manifest.json` in its directory. A directory without one isn't a
/// backup.
struct BackupManifest: Codable, Sendable {
    /// The version of the directory's layout.
    static let currentFormat = 1

    var format = currentFormat
    /// When its snapshot of the database was taken, ISO 8601.
    var createdAt: String
    /// The database's epoch then.
    var epoch: Int
    /// The schemas in the dump, which a restore replaces.
    var schemas: [String]
    /// The extensions of Postgres that what is dumped needs; in backups of earlier versions, all that the database had.
    var extensions: [String]
    /// The schema of each extension, to which the dump's objects refer; backups of earlier versions don't say it.
    var extensionSchemas: [String: String]?
    var dumpBytes: Int
    /// The dump's SHA-256, hexadecimal; a restore needs it.
    var dumpDigest: String?
    /// The beginning of the epoch, by which later states of the same database are known (``epochName``); backups of earlier versions
    /// don't say it.
    var origin: String?
    /// The versions of Postgres; backups of earlier versions don't say them.
    var postgres: Postgres?
    /// The apps that were deployed or had collections; in backups of earlier versions, only these.
    var apps: [String]
    var media: Media
    /// Whether the backup has `keys.env`.
    var hasKeys: Bool

    /// Major versions of Postgres.
    struct Postgres: Codable, Sendable {
        /// Of the server that the database was on.
        var server: Int
        /// Of the `pg_dump` that made the dump. An older `pg_restore` can't read it.
        var client: Int
    }

    /// The media objects that the database refers to.
    struct Media: Codable, Sendable {
        var objects: Int
        var bytes: Int
        /// Whether the bytes are in `media/`. `media-objects.txt` lists the objects (``MediaInventory``).
        var areCopied: Bool
        /// Whether that says their sizes; `nil` in backups of earlier versions.
        var haveSizes: Bool?
        /// How many of the objects didn't exist as files; `nil` when they aren't copied, and in backups of earlier versions.
        var missing: Int?
        /// How many have another size or other bytes than when they were stored; `nil` as above.
        var damaged: Int?
    }

    /// An epoch's name, in SQL over `partita.epochs`. A restore begins an epoch of its own, so that a copy of the database has other ones
    /// than this from then on.
    static let epochName = "epoch || '/' || extract(epoch from started_at)"

    func schema(ofExtension name: String) -> String { extensionSchemas?[name] ?? "public" }

    static func dump(in directory: String) -> String { directory + "/database.dump" }
    static func media(in directory: String) -> String { directory + "/media" }
    static func inventory(in directory: String) -> String { directory + "/media-objects.txt" }
    static func keys(in directory: String) -> String { directory + "/keys.env" }
    private static func file(in directory: String) -> String { directory + "/manifest.json" }

    /// Reads the manifest of a backup, and checks its schemas, and the dump's size and SHA-256.
    /// - Throws: `ToolError` that says what is missing or damaged.
    static func read(from directory: String) throws -> BackupManifest {
        guard let data = FileManager.default.contents(atPath: file(in: directory)) else {
            throw ToolError("\(directory) is no backup: it has no manifest.json")
        }
        let manifest: BackupManifest
        do {
            manifest = try JSONDecoder().decode(BackupManifest.self, from: data)
        } catch {
            throw ToolError(
                "\(file(in: directory)) is damaged: \(problem(error)). Nothing has changed; copy the backup again")
        }
        guard manifest.format == currentFormat else {
            throw ToolError("\(directory) is of format \(manifest.format), this tool reads \(currentFormat)")
        }
        if let foreign = manifest.schemas.first(where: { !OwnedSchemas.has($0) }) {
            throw ToolError(
                "\(file(in: directory)) names the schema \(foreign), which isn't Partita's: a restore drops the schemas that it names. Nothing has changed"
            )
        }
        guard let digest = manifest.dumpDigest else {
            throw ToolError(
                "\(file(in: directory)) has no dumpDigest, the SHA-256 of the dump: it was edited, or made by a version before there was one. Nothing has changed"
            )
        }
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: dump(in: directory)) else {
            throw ToolError("\(dump(in: directory)) doesn't exist: the backup is incomplete. Nothing has changed")
        }
        let size = attributes[.size] as? Int ?? 0
        guard size == manifest.dumpBytes else {
            throw ToolError("\(dump(in: directory)) is damaged: it has \(size) bytes, not \(manifest.dumpBytes)")
        }
        let present = try FileDigest.sha256(of: dump(in: directory))
        guard present == digest else {
            throw ToolError("\(dump(in: directory)) is damaged: its SHA-256 is \(present), not \(digest)")
        }
        return manifest
    }

    /// What is wrong with a manifest's JSON.
    private static func problem(_ error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String { path.map(\.stringValue).joined(separator: ".") }
        return switch error as? DecodingError {
        case .keyNotFound(let key, let context): "it has no \(place(context.codingPath + [key]))"
        case .valueNotFound(_, let context), .typeMismatch(_, let context):
            "its \(place(context.codingPath)) has no value of the right kind"
        default: "it is no JSON"
        }
    }

    func write(to directory: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try DurableFile.write(try encoder.encode(self), to: Self.file(in: directory))
    }
}
