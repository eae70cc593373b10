import ChildProcesses
import Foundation
import Glibc
import Postgres
import ServiceBootstrap

/// `partita backup DIRECTORY`.
enum BackupCommand {
    static let command = Command(
        name: "backup", summary: "Back up the database, the media and, on request, the keys; the system may be running",
        parameters: ["DIRECTORY"],
        options: [
            .init("include-keys", "also write the encryption keys that are configured, to keys.env"),
            .init(
                "media", value: "DIR", "where media are kept as files (default: PARTITA_MEDIA_DIRECTORY, or in --data)"),
            .init("accept-lost-media", "succeed although media are missing or damaged"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let directory = URL(fileURLWithPath: try arguments.required("DIRECTORY")).standardizedFileURL.path
        let media = MediaPlace(arguments)
        let configuration = try LocalConfiguration(arguments: arguments)
        guard !arguments.has("include-keys") || !configuration.keys.isEmpty else {
            throw ToolError("--include-keys: encryption.keys (\(encryptionKeys)) is not set here")
        }
        guard !FileManager.default.fileExists(atPath: directory) else {
            throw ToolError("\(directory) exists: a backup goes into a new directory")
        }
        try await Tool.run(configuration) { tool in
            try await RestoreLock.share(on: tool.postgres) {
                try await make(
                    directory, tool, configuration, media: media, includesKeys: arguments.has("include-keys"),
                    acceptsLoss: arguments.has("accept-lost-media"))
            }
        }
    }

    /// The variable of the keys with which signing keys and secrets in the database are encrypted.
    static let encryptionKeys = "PARTITA_ENCRYPTION_KEYS"

    private static func make(
        _ directory: String, _ tool: Tool, _ configuration: LocalConfiguration, media: MediaPlace, includesKeys: Bool,
        acceptsLoss: Bool
    ) async throws {
        // What this process and pg_dump make is for its owner only, whatever the umask was: it holds everything.
        umask(0o077)
        // The directory gets its name when it is complete.
        let partial = directory + ".partial"
        if FileManager.default.fileExists(atPath: partial) { try FileManager.default.removeItem(atPath: partial) }
        try FileManager.default.createDirectory(
            atPath: partial, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var manifest = try await write(tool, configuration, media: media, to: partial)
        if includesKeys {
            try writeKeys(configuration.keyVariables, to: BackupManifest.keys(in: partial))
            manifest.hasKeys = true
        }
        try manifest.write(to: partial)
        try DurableFile.rename(partial, to: directory)
        report(manifest, directory, media)
        let lost = (manifest.media.missing ?? 0) + (manifest.media.damaged ?? 0)
        guard lost == 0 || acceptsLoss else {
            throw ToolError(
                "\(directory) is complete but for \(lost) media; with --accept-lost-media that is no failure")
        }
    }

    private static func write(
        _ tool: Tool, _ configuration: LocalConfiguration, media: MediaPlace, to directory: String
    ) async throws -> BackupManifest {
        // Media are copied before and after the dump: objects that are removed meanwhile are in the first copy, new
        // ones in the second, which goes by what the dump refers to.
        let copy = try media.files.map { try MediaCopy(from: $0, to: BackupManifest.media(in: directory)) }
        try copy?.copyAll()
        var manifest = try await tool.postgres.withTransaction(isolation: .repeatableRead) { transaction in
            try await transaction.execute("set local idle_in_transaction_session_timeout = 0")
            let snapshot: String = try await transaction.query("select pg_export_snapshot()").only.decode(0)
            var manifest = try await describe(transaction)
            let server = try await PostgresDump.server(transaction)
            let client = try await Progress.step("dumping \(manifest.schemas.count) schemas") {
                try await PostgresDump(configuration).dump(
                    manifest.schemas, snapshot: snapshot, server: server, to: BackupManifest.dump(in: directory))
            }
            manifest.postgres = BackupManifest.Postgres(server: server, client: client)
            manifest.media.areCopied = copy != nil
            let lost = try await writeInventory(
                transaction, to: BackupManifest.inventory(in: directory), copying: copy)
            if copy != nil { (manifest.media.missing, manifest.media.damaged) = lost }
            manifest.media.haveSizes = true
            return manifest
        }
        try copy?.sync()
        let size = try FileManager.default.attributesOfItem(atPath: BackupManifest.dump(in: directory))[.size] as? Int
        manifest.dumpBytes = size ?? 0
        manifest.dumpDigest = try FileDigest.sha256(of: BackupManifest.dump(in: directory))
        return manifest
    }

    private static func describe(_ transaction: PostgresTransaction) async throws -> BackupManifest {
        let nothing = ToolError(
            "NoSystem: the database has nothing of Partita: check its URL, or start the services, which create their tables"
        )
        guard try await transaction.hasTable("partita.epochs"), try await transaction.hasTable("partita.collections")
        else { throw nothing }
        // An app without documents has no collections; one that was removed may have some.
        let deployed =
            try await transaction.hasTable("partita.apps")
            ? "union select id from partita.apps where not is_removed" : ""
        let row = try await transaction.query(
            """
            select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), (select max(epoch) from partita.epochs),
                (select array_agg(distinct s) from (
                    select 'partita' union all select schema_name from partita.collections) as names(s)),
                (select coalesce(array_agg(a order by a), '{}') from (
                    select distinct app from partita.collections \(deployed)) as apps(a))
            """
        ).only
        let (time, latest, schemas, apps) = try row.decode((String, Int?, [String], [String]).self)
        guard let epoch = latest else { throw nothing }
        var media = BackupManifest.Media(objects: 0, bytes: 0, areCopied: false)
        if try await transaction.hasTable("partita.media_objects") {
            (media.objects, media.bytes) = try await transaction.query(
                "select count(*), coalesce(sum(size), 0)::bigint from partita.media_objects where is_stored"
            ).only.decode((Int, Int).self)
        }
        let origin: String = try await transaction.query(
            "select \(BackupManifest.epochName) from partita.epochs order by epoch desc limit 1"
        ).only.decode(0)
        let extensions = try await NeededExtensions.all(of: schemas, on: transaction)
        return BackupManifest(
            createdAt: time, epoch: epoch, schemas: schemas,
            extensions: extensions.map(\.name),
            extensionSchemas: Dictionary(uniqueKeysWithValues: extensions.map { ($0.name, $0.schema) }),
            dumpBytes: 0, dumpDigest: nil,
            origin: origin, apps: apps, media: media, hasKeys: false)
    }

    /// Writes the inventory of the objects that the database refers to, and copies those that aren't copied yet.
    /// - Returns: how many can't be copied, since they don't exist; and how many have another size or other bytes than when they were stored.
    private static func writeInventory(
        _ transaction: PostgresTransaction, to file: String, copying copy: MediaCopy?
    ) async throws -> (missing: Int, damaged: Int) {
        guard try await transaction.hasTable("partita.media_objects") else { return (0, 0) }
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]),
            let handle = FileHandle(forWritingAtPath: file)
        else { throw ToolError("\(file) can't be written") }
        defer { handle.closeFile() }
        var last = "", missing = 0, damaged = 0
        while true {
            let objects = try await transaction.query(
                """
                select object, size::bigint from partita.media_objects where is_stored and object > $1 order by object
                limit 10000
                """, [.text(last)]
            ).decode((String, Int).self)
            guard let end = objects.last else {
                try handle.synchronize()
                return (missing, damaged)
            }
            last = end.0
            var lines = ""
            for (name, size) in objects {
                var loss: MediaInventory.Loss?
                if let copy {
                    if try !copy.copy(name) {
                        missing += 1
                        loss = .missing
                        if missing <= 10 {
                            Progress.line("\(copy.source)/\(name) doesn't exist, although a document refers to it")
                        }
                    } else if let damage = try damage(of: name, size: size, in: copy) {
                        damaged += 1
                        loss = .damaged
                        if damaged <= 10 { Progress.line("\(copy.source)/\(name) is damaged: it \(damage)") }
                    }
                }
                lines += MediaInventory.line(name, size: size, lost: loss)
            }
            try handle.write(contentsOf: Data(lines.utf8))
        }
    }

    private static func damage(of object: String, size: Int, in copy: MediaCopy) throws -> String? {
        if let found = copy.size(of: object), found != size { return "has \(found) bytes, not \(size)" }
        return try MediaInventory.damage(of: object, in: copy.target)
    }

    private static func writeKeys(_ variables: [(name: String, value: String)], to file: String) throws {
        let text = Data(variables.map { "\($0.name)=\($0.value)\n" }.joined().utf8)
        try DurableFile.write(text, to: file)
    }

    private static func report(_ manifest: BackupManifest, _ directory: String, _ media: MediaPlace) {
        Output.line(directory)
        let objects = "\(manifest.media.objects) objects, \(manifest.media.bytes) bytes"
        if manifest.media.areCopied {
            let missing = manifest.media.missing ?? 0, damaged = manifest.media.damaged ?? 0
            if missing == 0, damaged == 0 { Progress.line("media are in it: \(objects)") }
            if missing > 0 {
                Progress.line(
                    "MEDIA ARE MISSING: \(missing) of \(objects) that \(directory)/media-objects.txt names don't exist in \(media.files ?? "")"
                )
            }
            if damaged > 0 {
                Progress.line(
                    "MEDIA ARE DAMAGED: \(damaged) of \(objects) have another size or other bytes in \(media.files ?? "") than when they were stored"
                )
            }
        } else if manifest.media.objects > 0 {
            Progress.line(
                "MEDIA ARE NOT IN IT: \(objects). \(media.advice); \(directory)/media-objects.txt has their names")
        }
        if manifest.hasKeys {
            Progress.line(
                "the encryption keys of the secrets are in it (keys.env): with the backup, anyone can sign in as any user"
            )
        } else {
            Progress.line(
                "THE KEYS ARE NOT IN IT: keep \(encryptionKeys) somewhere else, or pass --include-keys; without it a restored system can't read its signing keys and secrets"
            )
        }
    }
}

extension PostgresRows {
    /// The only row of a query's result.
    var only: PostgresRow {
        get throws {
            guard let row = first else { throw ToolError("Postgres returned no row") }
            return row
        }
    }
}
