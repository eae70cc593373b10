import ChildProcesses
import DocumentModel
import EventLoop
import EventStream
import Foundation
import Kafka
import Lifecycle
import LocalEngines
import Postgres
import ServiceBootstrap
import ServiceEngines
import StoreSQL
import Texts

/// `partita restore DIRECTORY`.
enum RestoreCommand {
    static let command = Command(
        name: "restore", summary: "Replace the database's contents with a backup; the services must be stopped",
        parameters: ["DIRECTORY"],
        options: [
            .init(
                "media", value: "DIR", "where media are kept as files (default: PARTITA_MEDIA_DIRECTORY, or in --data)"),
            .init("accept-lost-media", "restore although media of the backup are missing or damaged"),
            .init("replace", "also delete another system's data, which the database has"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let directory = URL(fileURLWithPath: try arguments.required("DIRECTORY")).standardizedFileURL.path
        let stage = Locked(Stage.unchanged), signals = StopSignals()
        let watching = Task {
            await signals.wait()
            Progress.line("interrupted by \(signals.name ?? "a signal"): \(stage.withLock { $0 }.rawValue)")
            ProcessExit.now(130)
        }
        do {
            try await run(arguments, from: directory, stage)
        } catch {
            // Ctrl-C also ends the programs that the restore runs, and their failures are no news.
            if signals.isRaised { await watching.value }
            throw error
        }
    }

    /// What an interrupted restore has changed, for the user.
    enum Stage: String {
        case unchanged = "nothing has changed in the database"
        case committing = "it was being committed: run the restore again, which does no harm if it was"
        case committed =
            "the database is restored, but the topics or the store's mark may not be: run the restore again before the services start"
    }

    private static func run(_ arguments: Arguments, from directory: String, _ stage: Locked<Stage>) async throws {
        let manifest = try BackupManifest.read(from: directory)
        // Before engines are started.
        let lost = try await Progress.step("checking media") {
            try MediaInventory.check(manifest, in: directory, acceptsLoss: arguments.has("accept-lost-media"))
        }
        let checked = Checked(manifest: manifest, directory: directory, lostMedia: lost, stage: stage)
        let places = Places(data: arguments.value("data"))
        let ownsPostgres = FileManager.default.fileExists(atPath: places.engines + "/postgres")
        let named = try? LocalConfiguration(arguments: arguments)  // there may be none yet
        let isGiven = ["PARTITA_POSTGRES_URL", SecretFile.variable(of: "PARTITA_POSTGRES_URL")].contains {
            CurrentEnvironment.variables[$0] != nil
        }
        if let named, isGiven || !ownsPostgres {
            try await restore(checked, media: MediaPlace(arguments), named, arguments)
        } else {
            // A stopped system of `partita up`: its engines are started for the duration of the restore.
            let environment = CurrentEnvironment.variables
            let hasOwnKafka = FileManager.default.fileExists(atPath: places.engines + "/kafka")
            if hasOwnKafka, environment["KAFKA_HOME"]?.isEmpty ?? true, environment["PARTITA_KAFKA_BOOTSTRAP"] == nil {
                throw ToolError(
                    "the system's broker is Apache Kafka, whose topics have to be emptied, too: set KAFKA_HOME as for `partita up`"
                )
            }
            try await SystemLock.hold(places) {
                let engines = try await StartedEngines.start(in: places, basePort: try basePort(arguments))
                do {
                    try await restore(
                        checked, media: MediaPlace(arguments), LocalConfiguration(engines: engines, arguments),
                        arguments)
                    await engines.stop()
                } catch {
                    await engines.stop()
                    throw error
                }
            }
        }
    }

    /// The first port of the system in the data directory; otherwise the default of `partita up`.
    private static func basePort(_ arguments: Arguments) throws -> Int {
        let port = (try? LocalConfiguration(arguments: arguments)).flatMap { URL(string: $0.postgresURL)?.port }
        return port.map { $0 - 10 } ?? 8080
    }

    /// A backup that was checked.
    private struct Checked: Sendable {
        var manifest: BackupManifest
        var directory: String
        /// The media that it doesn't have as they were stored.
        var lostMedia: Set<ExactText>
        let stage: Locked<Stage>
    }

    private static func restore(
        _ backup: Checked, media: MediaPlace, _ configuration: LocalConfiguration, _ arguments: Arguments
    ) async throws {
        try await Tool.run(configuration) { tool in
            try await RestoreLock.hold(on: tool.postgres) { lock in
                try await restore(backup, media: media, configuration, arguments, tool, lock)
            }
        }
    }

    private static func restore(
        _ backup: Checked, media: MediaPlace, _ configuration: LocalConfiguration, _ arguments: Arguments,
        _ tool: Tool, _ lock: RestoreLock
    ) async throws {
        let manifest = backup.manifest, directory = backup.directory
        try await refuseWhileServicesRun(tool.postgres)
        if !arguments.has("replace") { try await refuseAnotherSystem(manifest, tool.postgres) }
        try await NeededExtensions.require(manifest, on: tool.postgres)
        let topics = BrokerReset(tool)
        try await topics.check()
        let copy =
            manifest.media.areCopied
            ? try media.files.map {
                try MediaCopy(from: BackupManifest.media(in: directory), to: $0, lost: backup.lostMedia)
            } : nil
        if let copy {
            // Without the mark, by which the services of the present database know their store: it may stay.
            try await Progress.step("copying media") {
                try copy.copyAll(but: MediaStoreMark.key)
                try copy.sync()
            }
        }
        let former = try await formerEpoch(tool.postgres)
        let server = try await PostgresDump.server(tool.postgres)
        try await Progress.step("restoring the database of \(manifest.createdAt)") {
            try await PostgresDump(configuration).restore(
                BackupManifest.dump(in: directory), of: manifest.postgres?.client, on: server,
                before: try await preface(manifest, tool.postgres),
                after: epilogue(former) + lock.check
            ) { backup.stage.withLock { $0 = .committing } }
        }
        backup.stage.withLock { $0 = .committed }
        let epoch = try? await tool.postgres.query("select partita.current_epoch()").only.decode(0, as: Int.self)
        let remaining = await finish(copy, topics)
        guard remaining.isEmpty else {
            throw ToolError(
                "the database is restored\(epoch.map { ", epoch \($0)" } ?? ""), but before the services start: \(remaining.joined(separator: "; "))"
            )
        }
        Output.line("restored\(epoch.map { ", epoch \($0)" } ?? "")")
        if manifest.media.areCopied, media.files == nil {
            Progress.line("MEDIA WERE NOT RESTORED: pass their directory with --media")
        } else if !manifest.media.areCopied, manifest.media.objects > 0 {
            Progress.line(
                "media are in the object store: it must still have the \(manifest.media.objects) objects in media-objects.txt"
            )
        }
        Progress.line(
            manifest.hasKeys
                ? "start the services with the keys in \(directory)/keys.env"
                : "start the services with the \(BackupCommand.encryptionKeys) that was in use when the backup was made"
        )
    }

    /// Does what follows the restored database.
    /// - Returns: what has failed, and what the user has to do instead.
    private static func finish(_ copy: MediaCopy?, _ topics: BrokerReset) async -> [String] {
        var remaining: [String] = []
        do {
            try copy?.replace(MediaStoreMark.key)
            try copy?.sync()
        } catch {
            let mark = MediaStoreMark.key
            let place = copy.map { "\($0.source)/\(mark) to \($0.target)/\(mark)" } ?? mark
            remaining.append("copy \(place), by which the services know the store of the media (\(error))")
        }
        do {
            try await Progress.step("emptying topics") { try await topics.run() }
        } catch {
            remaining.append(topics.remedy(error))
        }
        return remaining
    }

    /// A running service would continue with the state that it has in memory, and write it.
    private static func refuseWhileServicesRun(_ client: PostgresClient) async throws {
        let names = try await client.query(
            """
            select distinct s.service from pg_stat_activity a
            cross join lateral (select regexp_replace(a.application_name, '-[0-9a-f]{8}$', '') as service) s
            where a.datname = current_database() and s.service = any($1::text[]) order by 1
            """, [.textArray(LocalSystem.serviceNames)]
        ).decode(String.self)
        guard names.isEmpty else {
            throw ToolError("\(names.joined(separator: ", ")) still use the database: stop the services first")
        }
    }

    /// A wrong URL or data directory would cost the system that is there.
    private static func refuseAnotherSystem(_ manifest: BackupManifest, _ client: PostgresClient) async throws {
        guard try await client.hasTable("partita.epochs"), try await client.hasTable("partita.apps") else { return }
        let apps = try await client.query("select id from partita.apps where not is_removed order by id").decode(
            String.self)
        let users: Int =
            try await client.hasTable("partita.auth_users")
            ? try await client.query("select count(*) from partita.auth_users").only.decode(0) : 0
        if apps.isEmpty, users == 0 { return }
        let isKnown: Bool
        if let origin = manifest.origin {
            let found = try await client.query(
                "select from partita.epochs where \(BackupManifest.epochName) = $1", [.text(origin)])
            isKnown = !found.isEmpty
        } else {
            isKnown = Set(texts: apps).isSubset(of: Set(texts: manifest.apps))
        }
        guard !isKnown else { return }
        throw ToolError(
            """
            the database is another system's than the backup's, and has \(users) users and the apps [\(apps.joined(separator: ", "))]: a \
            restore deletes them. Check the database's URL or --data; with --replace it is done all the same
            """)
    }

    /// Drops all schemas of this project, including those created after the backup.
    private static func preface(_ manifest: BackupManifest, _ client: PostgresClient) async throws -> String {
        let present =
            try await client.hasTable("partita.collections")
            ? try await client.query("select distinct schema_name from partita.collections").decode(String.self) : []
        let schemas = Set(present).union(manifest.schemas).union(["partita"])
        let creation = try await NeededExtensions.creation(manifest, on: client)
        return (schemas.sorted().map { "drop schema if exists \($0.postgresIdentifier) cascade;" } + creation)
            .joined(separator: "\n")
    }

    /// The epoch of the database that the backup replaces; 0 when it is empty.
    private static func formerEpoch(_ client: PostgresClient) async throws -> Int64 {
        guard try await client.hasTable("partita.epochs") else { return 0 }
        return try await client.query("select coalesce(max(epoch), 0)::bigint from partita.epochs").only.decode(0)
    }

    /// Revisions continue in a new epoch, so that what devices and topics have from the time after the backup isn't valid any more.
    /// Its number is unused in the replaced database, too. Leases of that time are deleted. An older version may have made the backup: its
    /// functions are others, and its leases were elsewhere.
    private static func epilogue(_ former: Int64) -> String {
        """
        \(StoreSQL.epochs)
        select partita.begin_epoch_after(greatest(partita.current_epoch(), \(former)), 'restored');
        do $$ begin
            if to_regclass('partita.work_leases') is not null then
                delete from partita.work_leases;
                delete from partita.work_members;
            end if;
        end $$;
        """
    }
}

extension LocalConfiguration {
    /// The configuration of engines that this process has started.
    init(engines: StartedEngines, _ arguments: Arguments) {
        var values = (try? LocalConfiguration(arguments: arguments))?.values ?? [:]  // there may be none yet
        values["postgres.url"] = engines.postgresURL
        values["redis.url"] = engines.redisURL
        values["kafka.bootstrap"] = engines.kafkaBootstrap
        values["kafka.embedded"] = "\(engines.isEmbeddedBroker)"
        self.init(values: values)
    }
}
