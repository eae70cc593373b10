import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import FunctionProtocol
import Functions
import Logging
import Postgres
import ServiceEngines
import SyncEngine
import TestSupport

/// The app `rchat` on a document store of its own. Its functions run in host processes; its triggers run when `settle` is called,
/// so that a test decides what has happened before them.
struct ChatWorld: Sendable {
    let store: DocumentStore
    let app: DeployedApp
    private let client: PostgresClient
    private let hosts: FunctionHostPool
    private let handled = Locked<Set<String>>([])

    /// Creates a world that exists while the body runs.
    static func with(_ body: (ChatWorld) async throws -> Void) async throws {
        let engines = try await TestEngines.shared()
        let loops = LoopGroup(1)
        let client = PostgresClient(
            configuration: PostgresConfiguration(url: try await engines.makeDatabase()), on: loops)
        let hosts = FunctionHostPool(
            configuration: FunctionHostPool.Configuration(hosts: 1), loop: loops.next(), logger: Logger(label: "hosts"))
        let running = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                group.addTask { try await hosts.run() }
                try await group.waitForAll()
            }
        }
        defer { running.cancel() }
        try await DocumentStore.migrations.apply(on: client)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Deploy/apps/rchat").standardized.path
        let definition = try AppDefinition(folder: folder)
        let store = DocumentStore(client: client)
        store.define(AppStorage(definition))
        try await body(
            ChatWorld(
                store: store, app: DeployedApp(definition: definition, version: 1, deployedAt: 0), client: client,
                hosts: hosts))
    }

    func collection(_ name: String) -> DocumentCollection { store.collection(name, database: "RChat", app: app.id) }

    // MARK: People

    /// Registers a user, as auth's event does, and runs the triggers.
    func register(_ name: String) async throws -> RuleUser {
        let user = RuleUser(id: "id-of-\(name)", data: ["email": .string("\(name)@chat.example")])
        let event: Document = ["operationType": "CREATE", "user": .document(user.document)]
        _ = try await call("createNewUserDocument", [.document(event)])
        try await settle()
        return user
    }

    func user(_ user: RuleUser) async throws -> Document? {
        try await collection("User").findOne(["_id": .string(user.id)])
    }

    /// The conversation in a user's own list.
    func conversation(_ id: String, of user: RuleUser) async throws -> Value? {
        try await self.user(user)?["conversations"]?.arrayValue?.first { $0["id"]?.stringValue == id }
    }

    /// The members that a user's own list names, sorted.
    func members(_ id: String, of user: RuleUser) async throws -> [String]? {
        try await conversation(id, of: user)?["members"]?.arrayValue?.compactMap { $0["userName"]?.stringValue }
            .sorted()
    }

    /// Changes the user's own document, as a device does.
    func change(_ user: RuleUser, _ update: Document, arrayFilters: [Document] = []) async throws {
        _ = try await collection("User").updateOne(
            ["_id": .string(user.id)], .document(update), options: UpdateOptions(arrayFilters: arrayFilters))
    }

    static func member(_ user: RuleUser) -> Value {
        ["userName": user.data["email"] ?? .null, "membershipStatus": "Membership active"]
    }

    static func conversation(_ id: String, _ members: [RuleUser]) -> Value {
        [
            "id": .string(id), "displayName": "Chat", "unreadCount": .int64(0), "members": .array(members.map(member)),
        ]
    }

    // MARK: Functions

    /// Whether a user may read and write a partition, by the app's rules.
    func access(_ user: RuleUser, _ partition: String) async throws -> (read: Bool, write: Bool) {
        guard let sync = app.definition.sync else { throw Missing(what: "sync") }
        let context = RuleContext(app: app.definition, user: user, partition: .string(partition))
        let caller: RuleExpression.FunctionCall = { name, arguments in
            RuleFunctionResult(try await call(name, arguments, user: user))
        }
        return (
            try await sync.read.evaluate(context, callFunction: caller),
            try await sync.write.evaluate(context, callFunction: caller)
        )
    }

    func call(_ function: String, _ arguments: [Value], user: RuleUser? = nil) async throws -> Value {
        let effects = DocumentEffects(store: store, app: app.id)
        return try await hosts.run(
            FunctionInvocation(
                bundle: FunctionBundle(app.definition, version: app.version), function: function, arguments: arguments,
                context: FunctionContext(app: app.definition, user: user, isSystem: true).document,
                perform: { await effects.perform($0) }))
    }

    // MARK: Triggers

    /// Runs the database triggers for every change, theirs included, until there is none left. Changes of one document are taken
    /// in their order, documents in any.
    ///
    /// - Returns: how many runs it took.
    /// - Throws: `Missing` when it doesn't come to an end.
    @discardableResult
    func settle(using random: inout some RandomNumberGenerator) async throws -> Int {
        var runs = 0
        while let change = try await waiting().randomElement(using: &random) {
            handled.withLock { _ = $0.insert(change.id) }
            let function = change.collection == "User" ? "userDocWrittenTo" : "chatMessageChange"
            _ = try await call(function, [.document(change.event)])
            runs += 1
            guard runs < 300 else { throw Missing(what: "an end of the triggers' runs") }
        }
        return runs
    }

    @discardableResult
    func settle() async throws -> Int {
        var random = SystemRandomNumberGenerator()
        return try await settle(using: &random)
    }

    private struct Change {
        var id: String
        var collection: String
        var event: Document
    }

    /// The first change of each document that no trigger has seen.
    private func waiting() async throws -> [Change] {
        let rows = try await client.query(
            """
            SELECT partition, revision, collection, _id, operation, before::text, after::text FROM partita.changes
            WHERE app = $1 AND (collection = 'User' OR collection = 'ChatMessage' AND operation = 'insert')
            ORDER BY partition, epoch, revision
            """, [.text(app.id)]
        ).decode((String, Int64, String, String, String, String?, String?).self)
        let seen = handled.withLock { $0 }
        var first: [String: Change] = [:]
        for row in rows {
            let id = "\(row.0)/\(row.1)"
            let document = "\(row.2)/\(row.3)"
            guard !seen.contains(id), first[document] == nil else { continue }
            var event: Document = [
                "operationType": .string(row.4), "ns": ["db": "RChat", "coll": .string(row.2)],
                "documentKey": ["_id": Value(idText: row.3) ?? .null],
            ]
            if let before = row.5 { event["fullDocumentBeforeChange"] = try ExtendedJSON.parse(before) }
            if let after = row.6 { event["fullDocument"] = try ExtendedJSON.parse(after) }
            first[document] = Change(id: id, collection: row.2, event: event)
        }
        return first.values.sorted { $0.id < $1.id }
    }
}

struct Missing: Error, CustomStringConvertible {
    var what: String
    var description: String { "there is no \(what)" }
}
