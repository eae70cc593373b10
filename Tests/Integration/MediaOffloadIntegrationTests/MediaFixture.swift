import AWSSigning
import AccessTokens
import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Foundation
import HTTPClient
import Kafka
import Lifecycle
import Logging
import Metrics
import Postgres
import ServiceBootstrap
import ServiceEngines
import TestSupport
import Testing

@testable import MediaOffload

/// Media offload in this process, with the parts of a gateway that it needs: writes and the outbox relay.
final class MediaFixture: Sendable {
    static let namespace = ChangeEvent.Namespace(database: "RChat", collection: "ChatMessage")

    let app: String
    let storage: SwitchableStorage
    let directory: String
    /// A script that the service calls for thumbnails.
    let thumbnailProgram: String
    let engines: ServiceEngines
    let http: HTTPClient
    private let port: Int
    private let key: TokenSigningKey
    private let events: Locked<[MediaEvent]>

    static func shared() async throws -> MediaFixture { try await starter.fixture() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<MediaFixture, any Error>?

        func fixture() async throws -> MediaFixture {
            let task = started ?? Task { try await MediaFixture() }
            started = task
            return try await task.value
        }
    }

    /// - Parameter objectStore: keeps the objects instead of files, as the configuration says.
    init(objectStore: ObjectStore? = nil) async throws {
        let engines = try await TestEngines.shared()
        let pool = engines.makePool()
        var values = [
            "postgres.url": try await engines.makeDatabase(), "postgres.connections": "4",
            "kafka.pool": pool, "http.port": "0", "http.address": "127.0.0.1", "hosting.url": "https://pages.test",
        ].merging(engines.kafkaSettings) { $1 }
        if let objectStore {
            values["s3.endpoint"] = objectStore.endpoint
            values["s3.access-key"] = objectStore.accessKey
            values["s3.secret-key"] = objectStore.secretKey
            values["s3.bucket"] = "media-\(pool)"
        }
        let usesFiles = objectStore == nil
        app = "rchat-" + ObjectId().hexString
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("media-\(pool)").path
        storage = SwitchableStorage(directory: directory)
        thumbnailProgram = directory + "-thumbnail"
        #expect(
            FileManager.default.createFile(
                atPath: thumbnailProgram, contents: Data("#!/bin/sh\nexec vipsthumbnail \"$@\"\n".utf8),
                attributes: [.posixPermissions: 0o755]))
        key = try TokenSigningKey(generatingWithId: ObjectId().hexString)
        http = HTTPClient(loop: LoopGroup(1).next())
        events = Locked([])
        let media = try await Self.run(MediaOffloadServer.main, values) { [storage, thumbnailProgram] context in
            usesFiles
                ? try MediaOffloadServer.make(
                    &context, storage: storage, thumbnailer: Thumbnailer(program: thumbnailProgram))
                : try MediaOffloadServer.make(&context)
        }
        port = media
        let writer = Locked<ServiceEngines?>(nil)
        let isWorking = Locked(false)
        _ = try await Self.run(
            ServiceMain(name: "writer", summary: "", defaultPort: 0, keys: EngineSettings.keys),
            values.filter { !$0.key.hasPrefix("s3.") }
        ) { [events] context in
            let engines = try ServiceEngines(context)
            writer.withLock { $0 = engines }
            let relay = OutboxRelay(store: engines.store, producer: engines.events, on: context.loops.next())
            let tail = EventTail<MediaEvent>(
                pool: engines.pool, kafka: KafkaClient(configuration: engines.kafka)
            ) { received in
                let decoded = try received.map { try $0.decoded().payload }
                events.withLock { $0 += decoded }
            }
            // Stands for permissions: users with such names may read, and no other user without a grant. It stores a grant of access
            // before it publishes it; refusals aren't stored.
            let questions = EventTail<PermissionRequest>(
                pool: engines.pool, kafka: KafkaClient(configuration: engines.kafka)
            ) { received in
                for question in try received.map({ try $0.decoded().payload }) {
                    let access: Grant.Access = question.user.hasPrefix("asked-") ? .read : .none
                    if access != .none {
                        try await engines.postgres.execute(
                            """
                            insert into partita.grants (app, partition, user_id, access, epoch, version)
                            values ($1, $2, $3, $4, 1, 2)
                            on conflict (app, partition, user_id) do update set access = excluded.access
                            """,
                            [
                                .text(question.app), .text(question.partition.text), .text(question.user),
                                .text(access.rawValue),
                            ])
                    }
                    try await engines.events.send(
                        GrantsEvent.grant(
                            Grant(
                                app: question.app, user: question.user, partition: question.partition, access: access,
                                version: Revision(epoch: 1, number: 2), reason: "", expires: nil, time: 0)))
                }
            }
            return [
                engines.service {
                    isWorking.withLock { $0 = true }
                    return [relay, tail, questions]
                }
            ]
        }
        self.engines = try await eventually("the writer is made") { writer.withLock { $0 } }
        try await eventually("the writer works", within: .seconds(60)) { isWorking.withLock { $0 } }
        try await deploy()
    }

    /// Starts a service that runs as long as the test process.
    /// - Returns: its port.
    private static func run(
        _ main: ServiceMain, _ values: [String: String], make: @escaping ServiceMain.Make
    ) async throws -> Int {
        let configuration = try Configuration(keys: main.allKeys, fileValues: values)
        let port = Locked<Int?>(nil)
        Task {
            try await main.run(
                configuration, registry: MetricsRegistry(),
                listening: { listening in port.withLock { $0 = listening } },
                make: make)
        }
        return try await eventually("the service listens", within: patience) { port.withLock { $0 } }
    }

    private func deploy() async throws {
        try await engines.events.send(
            SigningKeyEvent(
                keyID: key.id, jwk: key.publicKey.jwk, notBefore: 0,
                expires: Int64(Date.distantFuture.timeIntervalSince1970)))
        try await AppRegistry(client: engines.postgres).deploy(Self.definition(of: app))
        engines.apps.announce()
        try await eventually("the writer knows the app") { engines.apps.app(app) != nil }
        try await eventually("media offload is ready", within: .seconds(60)) {
            try await send("/health/ready").status == 200
        }
    }

    /// An app with media in messages and in documents that must keep theirs.
    static func definition(of app: String) throws -> AppDefinition {
        try AppDefinition(files: [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(app)", "name": "RChat", "location": "DE-FF", "deployment_model": "LOCAL"}
            """,
            "sync/config.json": """
            {"state": "enabled", "database_name": "RChat", "service_name": "mongodb-atlas",
             "partition": {"key": "partition", "type": "string", "required": true,
                           "permissions": {"read": true, "write": true}}}
            """,
            "data_sources/mongodb-atlas/config.json": """
            {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}
            """,
            "data_sources/mongodb-atlas/RChat/ChatMessage/schema.json": """
            {"title": "ChatMessage", "bsonType": "object", "properties": {"partition": {"bsonType": "string"}}}
            """,
            "data_sources/mongodb-atlas/RChat/ChatMessage/rules.json": """
            {"database": "RChat", "collection": "ChatMessage", "roles": []}
            """,
            "data_sources/mongodb-atlas/RChat/Signed/schema.json": """
            {"title": "Signed", "bsonType": "object", "required": ["scan"],
             "properties": {"partition": {"bsonType": "string"}, "scan": {"bsonType": "binData"}}}
            """,
            "data_sources/mongodb-atlas/RChat/Signed/rules.json": """
            {"database": "RChat", "collection": "Signed", "roles": []}
            """,
            "partita.json": """
            {"media": [{"database": "RChat", "collection": "ChatMessage", "field": "image.picture",
                        "linkField": "image.pictureURL", "thumbnailField": "image.thumbNail", "thumbnailPixels": 128,
                        "minimumBytes": 100},
                       {"database": "RChat", "collection": "ChatMessage", "field": "file.data", "linkField": "file.url"},
                       {"database": "RChat", "collection": "Signed", "field": "scan", "linkField": "scanURL"}]}
            """,
        ])
    }

    /// A mover like the service's, in the writer.
    var mover: MediaMover {
        MediaMover(
            store: engines.store, storage: storage, table: MediaTable(client: engines.postgres), events: engines.events,
            publicURL: "http://127.0.0.1:8084", logger: Logger(label: "test"),
            thumbnailer: Thumbnailer(program: thumbnailProgram))
    }

    // MARK: Documents

    var messages: DocumentCollection {
        engines.store.collection(Self.namespace.collection, database: Self.namespace.database, app: app)
    }

    /// Inserts a message with a picture in a partition of its own.
    @discardableResult
    func insert(
        _ picture: [UInt8], id: String = UUID().uuidString, thumbnail: [UInt8]? = nil, beforeCommit: CommitHook? = nil
    ) async throws -> String {
        var image: Document = ["_id": "photo", "picture": .binary(Binary(picture))]
        if let thumbnail { image["thumbNail"] = .binary(Binary(thumbnail)) }
        try await messages.insertOne(
            [
                "_id": .string(id), "partition": .string("conversation=\(id)"), "text": "look",
                "image": .document(image),
            ], beforeCommit: beforeCommit)
        return id
    }

    func replacePicture(of id: String, by picture: [UInt8]) async throws {
        try await messages.updateOne(
            ["_id": .string(id)],
            ["$set": ["image": ["_id": "photo", "picture": .binary(Binary(picture))]]])
    }

    func image(of id: String) async throws -> Document? {
        try await messages.findOne(["_id": .string(id)])?["image"]?.documentValue
    }

    /// Waits until the picture is moved.
    /// - Parameter picture: what the link must lead to; `nil` for anything.
    func movedImage(of id: String, picture: [UInt8]? = nil) async throws -> Document {
        try await eventually("the picture of \(id) is moved", within: patience) {
            guard let image = try await image(of: id), image["picture"] == nil,
                let link = image["pictureURL"]?.stringValue,
                picture.map({ link.hasSuffix(SHA256.hex($0)) }) ?? true
            else { return nil }
            return image
        }
    }

    // MARK: Rows, events, files

    func rows(_ table: String, of id: String) async throws -> Int {
        try await engines.postgres.query(
            "select count(*) from partita.\(table) where app = $1 and _id = $2", [.text(app), .text("s:\(id)")]
        ).decode(Int.self)[0]
    }

    func objects(of picture: [UInt8]) async throws -> Int {
        try await engines.postgres.query(
            "select count(*) from partita.media_objects where app = $1 and digest = $2",
            [.text(app), .text(SHA256.hex(picture))]
        ).decode(Int.self)[0]
    }

    /// The paths of the files that hold these bytes.
    func files(of picture: [UInt8]) -> [String] {
        let digest = SHA256.hex(picture)
        let folder = "\(directory)/\(app)/\(digest.prefix(2))"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasPrefix(digest) }.map { "\(folder)/\($0)" }
    }

    func events(of id: String) -> [MediaEvent] { events.withLock { $0.filter { $0.documentKey == .string(id) } } }

    /// The job that a change of this document made last.
    func job(_ kind: MediaJob.Kind, of id: String) async throws -> MediaJob {
        let head = try await engines.postgres.query(
            "select epoch, revision from partita.changes where app = $1 and _id = $2 order by epoch, revision limit 1",
            [.text(app), .text("s:\(id)")])
        let (epoch, number) = try head[0].decode((Int32, Int64).self)
        return MediaJob(
            app: app, kind: kind, namespace: Self.namespace, documentKey: .string(id),
            partition: Partition(text: "s:conversation=\(id)"), revision: Revision(epoch: epoch, number: number),
            path: "image.picture", time: 0)
    }

    /// Gives the service a job, and waits until it is done.
    func perform(_ job: MediaJob) async throws {
        try await JobTable(client: engines.postgres).add([job])
        try await engines.events.send(job)
        try await settled(job.documentKey.stringValue ?? "")
    }

    /// Waits until a document has no more jobs.
    func settled(_ id: String) async throws {
        try await eventually("all jobs of \(id) are done", within: patience) {
            try await rows("media_jobs", of: id) == 0
        }
    }

    // MARK: HTTP

    func grant(_ access: String, to user: String, on id: String) async throws {
        try await engines.postgres.execute(
            """
            insert into partita.grants (app, partition, user_id, access, epoch, version) values ($1, $2, $3, $4, 1, 1)
            on conflict (app, partition, user_id) do update set access = excluded.access
            """, [.text(app), .text("s:conversation=\(id)"), .text(user), .text(access)])
    }

    func token(
        _ user: String, app: String? = nil, session: String = "s", lifetime: Int64 = 600
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return try key.sign(
            TokenClaims(
                session: session, user: user, device: "d", app: app ?? self.app, type: .access, issuedAt: now - 10,
                expiresAt: now + lifetime))
    }

    /// Ends a session as auth does: writes the row, then the event.
    func end(_ session: String, of user: String) async throws {
        let until = Int64(Date().timeIntervalSince1970 * 1000) + 600_000
        try await EndedSessionTable(engines.postgres).add([EndedSession(app: app, id: session, until: until)])
        try await engines.events.send(
            AuthEvent(
                id: ObjectId().hexString, app: app, kind: .signedOut, userID: user, user: [:], session: session,
                accessUntil: until, time: 0))
    }

    /// Shuts a user out as auth does: writes the row, then the event.
    func disable(_ user: String) async throws {
        try await ShutOutTable(engines.postgres).add(user, app: app, reason: .disabled)
        try await engines.events.send(
            AuthEvent(id: ObjectId().hexString, app: app, kind: .userDisabled, userID: user, user: [:], time: 0))
    }

    /// Requests a hosted file of an app, as the proxy passes it on.
    /// - Parameter host: other than the app's own.
    func page(
        _ path: String, of app: String, host: String? = nil, method: String = "GET", _ headers: [(String, String)] = []
    ) async throws -> HTTPClient.Response {
        let fields = [("Host", host ?? "\(app).pages.test")] + headers
        return try await http.send(
            HTTPClient.Request(
                method: method, url: "http://127.0.0.1:\(port)/hosted\(path)",
                headers: fields.map { HTTPClient.Header($0.0, $0.1) }, maximumResponseBytes: 64 << 20))
    }

    /// Deploys an app that hosts files.
    /// - Parameter settings: what `hosting/config.json` has besides.
    /// - Returns: its id.
    func host(
        _ hosted: KeyValuePairs<String, [UInt8]>, settings: String = "", metadata: String = "[]", as id: String? = nil
    ) async throws -> String {
        let id = id ?? "site-\(ObjectId().hexString)"
        var files: AppFiles = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(id)", "name": "site"}"#,
            "hosting/config.json": #"{"enabled": true\#(settings)}"#, "hosting/metadata.json": metadata,
        ]
        for (path, bytes) in hosted { files.otherFiles[ExactText("hosting/files/" + path)] = bytes }
        let registry = AppRegistry(client: engines.postgres)
        let deployed = try await registry.deploy(try AppDefinition(files: files)).app
        let version = deployed.version
        try await AppRegistry.announce(deployed, with: engines.events)
        try await eventually("media offload has version \(version)", within: patience) {
            try await engines.postgres.query(
                "select 1 from partita.app_instances where app = $1 and version >= $2 and instance like 'media-offload-%'",
                [.text(id), .int(version)]
            ).count > 0
        }
        return id
    }

    /// Opens a document's link at the service's port.
    func open(_ link: String, token: String? = nil, query: String = "", origin: String? = nil) async throws
        -> HTTPClient.Response
    {
        let path = String(link.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" })
        return try await send(path + query, token: token, origin: origin)
    }

    private func send(_ path: String, token: String? = nil, origin: String? = nil) async throws -> HTTPClient.Response {
        try await http.send(
            HTTPClient.Request(
                url: "http://127.0.0.1:\(port)\(path)",
                headers: [
                    token.map { .init("Authorization", "Bearer \($0)") }, origin.map { .init("Origin", $0) },
                ].compactMap(\.self)))
    }
}
