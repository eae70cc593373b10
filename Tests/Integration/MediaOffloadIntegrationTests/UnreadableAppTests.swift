import AppRegistry
import ChangeStream
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Foundation
import Logging
import Postgres
import ServiceEngines
import SyncEngine
import TestSupport
import Testing

@testable import MediaOffload

extension MediaOffloadTests {
    /// An app whose version a newer process has stored, as during an upgrade.
    @Suite struct UnreadableAppTests {
        private let logger = Logger(label: "test")

        /// Deploys an app so that its version can't be read.
        /// - Returns: its id, and what makes the version readable.
        private func deployUnreadable(
            _ fixture: MediaFixture
        ) async throws -> (id: String, makeReadable: @Sendable () async throws -> Void) {
            let definition = try MediaFixture.definition(of: "newer-\(ObjectId().hexString)")
            let (id, postgres) = (definition.id, fixture.engines.postgres)
            let stored = Locked("")
            // At the end of the transaction: a deployment reads what it has stored.
            let registry = AppRegistry(client: postgres) { transaction in
                let text = try await transaction.query(
                    "select definition::text from partita.app_versions where app = $1", [.text(id)]
                ).decode(String.self)[0]
                stored.withLock { $0 = text }
                try await transaction.execute(
                    "update partita.app_versions set definition = '{\"of\": \"another form\"}' where app = $1",
                    [.text(id)])
            }
            try await registry.deploy(definition)
            fixture.engines.store.define(AppStorage(definition))
            return (
                id,
                {
                    try await postgres.execute(
                        "update partita.app_versions set definition = $2::text::json where app = $1",
                        [.text(id), .text(stored.withLock { $0 })])
                }
            )
        }

        @Test func `its photos and jobs wait, and are moved when it can be read`() async throws {
            let fixture = try await MediaFixture.shared()
            let (app, makeReadable) = try await deployUnreadable(fixture)
            let postgres = fixture.engines.postgres
            let messages = fixture.engines.store.collection("ChatMessage", database: "RChat", app: app)
            let picture = Array("newer \(UUID().uuidString)".utf8) + Array(repeating: 7, count: 5000)
            try await messages.insertOne([
                "_id": "photo", "partition": "p", "image": ["_id": "photo", "picture": .binary(Binary(picture))],
            ])
            let rows = try await postgres.query(
                "select epoch, revision from partita.changes where app = $1", [.text(app)])
            let (epoch, number) = try rows[0].decode((Int32, Int64).self)
            let history = ChangeHistory(client: postgres, epoch: fixture.engines.epoch)
            let change = try #require(
                try await history.change(
                    app: app, partition: Partition(text: "s:p"), revision: Revision(epoch: epoch, number: number)))

            let apps = fixture.engines.apps
            let changes = ChangesHandler(
                apps: apps, table: JobTable(client: postgres), events: fixture.engines.events, logger: logger)
            await #expect(throws: AppDirectory.Unreadable.self) {
                _ = try await changes.concern(of: [ExactText(app)])
            }
            await #expect(throws: AppDirectory.Unreadable.self) {
                try await changes.handle([ReceivedEvent(.change(change))])
            }
            let jobs = JobsHandler(
                apps: apps, table: JobTable(client: postgres), breaker: StorageBreaker(fixture.storage),
                mover: fixture.mover, logger: logger)
            let job = ReceivedEvent(
                MediaJob(
                    app: app, kind: .offload, namespace: MediaFixture.namespace, documentKey: "photo",
                    partition: change.partition, revision: change.revision, path: "image.picture", time: 0))
            let error = await #expect(throws: AppDirectory.Unreadable.self) { try await jobs.handle([job]) }
            let decision = await jobs.decide(try #require(error), on: job, attempts: 1000)
            if case .retry = decision {} else { Issue.record("\(decision)") }

            try await makeReadable()
            try await eventually("the photo is moved", within: patience) {
                try await messages.findOne(["_id": "photo"])?.value(at: "image.pictureURL")?.stringValue != nil
            }
        }

        @Test func `references of earlier versions wait for their numbers`() async throws {
            let fixture = try await MediaFixture.shared()
            let (app, makeReadable) = try await deployUnreadable(fixture)
            let postgres = fixture.engines.postgres
            let messages = fixture.engines.store.collection("ChatMessage", database: "RChat", app: app)
            try await messages.insertOne(["_id": "old", "partition": "p"])
            let number = try #require(try await messages.insertionNumber(of: "old"))
            try await postgres.execute(
                """
                insert into partita.media_references
                    (app, database, collection, _id, path, digest, partition, revision, state)
                values ($1, 'RChat', 'ChatMessage', 's:old', 'image.picture', 'digest', 's:p', '1.1', 'announced')
                """, [.text(app)])
            let numbering = ReferenceNumbering(
                table: MediaTable(client: postgres), store: fixture.engines.store, apps: fixture.engines.apps,
                logger: logger)
            try await fixture.engines.apps.refresh()
            await #expect(throws: AppDirectory.Unreadable.self) { _ = try await numbering.numberSome() }
            let numbers = "select insertion from partita.media_references where app = $1"
            #expect(try await postgres.query(numbers, [.text(app)]).decode(Int64?.self) == [nil])

            try await makeReadable()
            try await eventually("the app is known", within: patience) {
                try await fixture.engines.apps.refresh()
                return fixture.engines.apps.app(app) != nil
            }
            while try await numbering.numberSome() > 0 {}
            #expect(try await postgres.query(numbers, [.text(app)]).decode(Int64?.self) == [number])
        }
    }
}
