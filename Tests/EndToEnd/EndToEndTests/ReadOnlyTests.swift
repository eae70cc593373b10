import ChildProcesses
import DocumentModel
import EventLoop
import Foundation
import PartitaClient
import Postgres
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// A Postgres that answers and takes no writes, as after a failover or with a full disk.
    struct ReadOnlyTests {
        @Test func `while Postgres takes no writes a partition pauses, and the connection stays open`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let talk = try await ada.open(try await ada.beginConversation())
            try await ada.send("before", to: talk)
            try await talk.waitForUploads()
            let own = ada.own.partition
            let raw = try await RawDevice.connect(system)
            try await raw.greet(try await ada.accessToken(on: system))
            for partition in [own, talk.partition] {
                raw.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
                try await raw.wait("\(partition)") {
                    if case .subscribed(let s) = $0 { s.partition == partition } else { false }
                }
            }

            try await setReadOnly(true, system)
            let id = try await ada.send("meanwhile", to: talk)
            let message: Document = [
                "_id": .string(UUID().uuidString), "partition": talk.partition.value ?? .null, "text": "raw",
                "author": .string(ada.email), "timestamp": .date(0),
            ]
            let changeset = Changeset(
                version: 1, clock: HybridTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000), counter: 0),
                operations: [
                    Operation(collection: "ChatMessage", id: message["_id"] ?? .null, kind: .insert(message))
                ])
            raw.send(.upload(.init(partition: talk.partition, sentAt: 0, changesets: [changeset])))
            let report = try await eventually("an answer") {
                raw.frames.compactMap { if case .error(let report) = $0 { report } else { nil } }.first
            }
            #expect(report.code == .unavailable && report.partition == talk.partition, "\(report)")
            #expect(report.retryAfter.map { $0 >= .seconds(1) } == true, "\(report)")
            raw.send(.ping)
            try await raw.wait("a pong of the same connection") { if case .pong = $0 { true } else { false } }
            #expect(!raw.isClosed)
            let check = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["check", "--app", "rchat", "--data", system.directory])
            #expect(!check.status.isSuccess && check.output.contains("only reads"), "\(check.output)")

            try await setReadOnly(false, system)
            try await eventually("what was written meanwhile is acknowledged", within: patience) {
                try await talk.pending().isEmpty
            }
            #expect(try await talk.document("ChatMessage", id: .string(id))?["text"] == "meanwhile")
            raw.close()
            try await ada.close()
        }

        /// Applies to new sessions; existing ones are ended.
        private func setReadOnly(_ isReadOnly: Bool, _ system: RunningSystem) async throws {
            var settings = PostgresConfiguration(url: try system.setting("postgres.url"))
            settings.connections = 1
            settings.settings["default_transaction_read_only"] = "off"
            try await PostgresClient.withClient(settings, on: Self.loops) { client in
                let name = try await client.query("select quote_ident(current_database())").decode(String.self)[0]
                try await client.execute(
                    "alter database \(name) set default_transaction_read_only = \(isReadOnly ? "on" : "off")")
                _ = try await client.query(
                    """
                    select pg_terminate_backend(pid) from pg_stat_activity
                    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
                    """)
            }
        }

        private static let loops = LoopGroup(1)
    }
}
