import DocumentModel
import DocumentStore
import Logging
import Postgres
import SyncEngine
import TestSupport
import Testing

/// Something in the database is broken until an administrator repairs it.
struct UploadFaultTests {
    struct Fault: Sendable, CustomStringConvertible {
        let description: String
        let collection: String
        let sabotage: String
        let mend: String
        /// What the log names.
        let names: String
    }

    static let faults = [
        Fault(
            description: "a table was renamed", collection: "ChatMessage",
            sabotage: #"alter table "rchat/RChat"."ChatMessage" rename to elsewhere"#,
            mend: #"alter table "rchat/RChat".elsewhere rename to "ChatMessage""#, names: "ChatMessage"),
        Fault(
            description: "a column was dropped", collection: "ChatMessage",
            sabotage: #"alter table "rchat/RChat"."ChatMessage" drop column clocks"#,
            mend: #"alter table "rchat/RChat"."ChatMessage" add column clocks json"#, names: "clocks"),
        Fault(
            description: "a conflicting table was made", collection: "Chatster",
            sabotage: #"create table "rchat/RChat"."Chatster" (own int)"#,
            mend: #"drop table "rchat/RChat"."Chatster""#, names: "Chatster"),
        Fault(
            description: "a privilege was revoked", collection: "ChatMessage",
            sabotage: #"revoke insert on "rchat/RChat"."ChatMessage" from "ROLE""#,
            mend: #"grant insert on "rchat/RChat"."ChatMessage" to "ROLE""#, names: "ChatMessage"),
    ]

    @Test(arguments: faults)
    func `a fault delays only what it affects, is logged once, and ends when it is repaired`(
        _ fault: Fault
    ) async throws {
        try await StoreFixture.with { fixture in
            let own = Partition.conversation("1"), other = Partition.conversation("2")
            for partition in [own, other] { try await fixture.grant(in: partition) }
            try await fixture.store.ensureCollection(
                .init(database: "RChat", collection: "User"), app: StoreFixture.app)
            let role = "writer_" + (fixture.url.split(separator: "/").last.map(String.init) ?? "")
            try await makeRole(role, fixture)
            let log = InMemoryLogHandler()
            var configuration = PostgresConfiguration(url: fixture.url)
            configuration.settings["role"] = role
            try await PostgresClient.withClient(configuration, on: StoreFixture.loops) { client in
                let store = DocumentStore(client: client, logger: Logger(label: "test", handler: log))
                store.define(try fixture.store.storage(of: StoreFixture.app))
                let committer = GroupCommitter(store: store)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await committer.run() }
                    defer { group.cancelAll() }
                    @Sendable func commit(_ upload: Upload) async throws -> UploadResult {
                        try await committer.commit(upload, app: StoreFixture.app)
                    }
                    /// The error that it is refused with; `nil` when it is committed.
                    @Sendable func outcome(_ upload: Upload) async throws -> DocumentStoreError.Code? {
                        do {
                            return try await commit(upload).acknowledgement == nil ? .corruptRow : nil
                        } catch let error as DocumentStoreError {
                            return error.code
                        }
                    }
                    let before = try await commit(.of(1, [.insert("a", in: own)], in: own))
                    #expect(before.acknowledgement != nil)

                    try await fixture.client.execute(fault.sabotage.replacing("ROLE", with: role))
                    let broken = Upload.of(2, [.insert("b", in: own, collection: fault.collection)], in: own)
                    for round in 1...3 as ClosedRange<Int64> {
                        async let held = outcome(broken)
                        async let sameDevice = commit(
                            .of(round, [.insert("c\(round)", in: other, collection: "User")], in: other))
                        async let otherDevice = commit(
                            .of(round, [.insert("d\(round)", in: own, collection: "User")], device: "tablet", in: own))
                        let answers = try await (held, sameDevice, otherDevice)
                        #expect(answers.0 == .unavailable)
                        #expect(answers.1.acknowledgement != nil)
                        #expect(answers.2.acknowledgement != nil)
                    }
                    let errors = log.events.filter { $0.level == .error }
                    #expect(errors.count == 1)
                    let cause = "\(errors.first?.metadata["error"], default: "")"
                    #expect(cause.contains(fault.names), "\(errors)")

                    try await fixture.client.execute(fault.mend.replacing("ROLE", with: role))
                    try await eventually("it is committed", within: .seconds(60), every: .milliseconds(100)) {
                        try await outcome(broken) == nil
                    }
                }
            }
        }
    }

    @Test func `a unique index refuses only the changeset with a duplicate`() async throws {
        try await StoreFixture.with { fixture in
            let own = Partition.conversation("1")
            try await fixture.grant(in: own)
            let users = fixture.store.collection("User", database: "RChat", app: StoreFixture.app)
            _ = try await users.createIndexes([IndexModel([.init("name")], unique: true)])
            let results = try await fixture.commit([
                .of(1, [.insert("a", ["name": "x"], in: own, collection: "User")], in: own),
                .of(2, [.insert("b", ["name": "x"], in: own, collection: "User")], in: own),
                .of(3, [.insert("c", ["name": "y"], in: own, collection: "User")], in: own),
            ])
            #expect(results[0].acknowledgement != nil)
            guard case .rejected(let rejection) = results[1] else {
                Issue.record("\(results[1])")
                return
            }
            #expect(rejection.code == .duplicateKey)
            #expect(results[2].acknowledgement != nil)
        }
    }

    /// A role that may do everything that a service does, but isn't a superuser, for whom nothing is forbidden.
    private func makeRole(_ role: String, _ fixture: StoreFixture) async throws {
        try await fixture.client.execute("create role \"\(role)\"")
        for statement in [
            "grant create on database current_database to", "grant all on schema partita, \"rchat/RChat\" to",
            "grant all on all tables in schema partita, \"rchat/RChat\" to",
            "grant all on all sequences in schema partita to",
        ] {
            let name = fixture.url.split(separator: "/").last ?? ""
            try await fixture.client.execute(
                statement.replacing("current_database", with: "\"\(name)\"") + " \"\(role)\"")
        }
    }
}
