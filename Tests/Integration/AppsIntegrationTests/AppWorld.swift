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

/// One of the apps under `Deploy/apps` on a document store of its own. Its functions run in host processes; its triggers run when
/// `settle` is called, so that a test decides what has happened before them.
struct AppWorld: Sendable {
    let store: DocumentStore
    let app: DeployedApp
    private let client: PostgresClient
    private let hosts: FunctionHostPool
    private let handled = Locked<Set<String>>([])

    /// Creates a world that exists while the body runs.
    /// - Parameter name: the app's folder.
    static func with(_ name: String, _ body: (AppWorld) async throws -> Void) async throws {
        let engines = try await TestEngines.shared()
        let loops = LoopGroup(1)
        let client = PostgresClient(
            configuration: PostgresConfiguration(url: try await engines.makeDatabase()), on: loops)
        let hosts = FunctionHostPool(
            configuration: FunctionHostPool.Configuration(hosts: 4), loop: loops.next(), logger: Logger(label: "hosts"))
        let running = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                group.addTask { try await hosts.run() }
                try await group.waitForAll()
            }
        }
        defer { running.cancel() }
        try await DocumentStore.migrations.apply(on: client)
        let definition = try AppDefinition(folder: folder(name))
        let store = DocumentStore(client: client)
        store.define(AppStorage(definition))
        try await body(
            AppWorld(
                store: store, app: DeployedApp(definition: definition, version: 1, deployedAt: 0), client: client,
                hosts: hosts))
    }

    private static func folder(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Deploy/apps/\(name)").standardized.path
    }

    /// Inserts the app's sample documents. Its sample users are accounts of auth, so they are left out.
    func insertSample() async throws {
        let folder = Self.folder(app.id) + "/sample"
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) where file.hasSuffix(".jsonl") {
            let lines = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8).split(separator: "\n")
            let name = String(file.dropLast(".jsonl".count).split(separator: ".", maxSplits: 1)[1])
            try await collection(name).insertMany(try lines.map { try ExtendedJSON.parseDocument(String($0)) })
        }
    }

    func collection(_ name: String) -> DocumentCollection {
        store.collection(name, database: app.definition.sync?.database ?? "", app: app.id)
    }

    // MARK: People

    /// Registers a user, as auth's event does, and runs the triggers.
    func register(_ name: String) async throws -> RuleUser {
        let user = RuleUser(id: "id-of-\(name)", data: ["email": .string("\(name)@\(app.id).example")])
        try await signal(.create, of: user)
        return user
    }

    /// Runs the triggers of an account's creation or deletion, and those that follow.
    func signal(_ operation: TriggerDefinition.Authentication.Operation, of user: RuleUser) async throws {
        let event: Document = ["operationType": .string(operation.rawValue), "user": .document(user.document)]
        for trigger in app.definition.triggers {
            guard case .authentication(let condition) = trigger.event, condition.operation == operation else {
                continue
            }
            _ = try await call(trigger.functionName, [.document(event)])
        }
        try await settle()
    }

    // MARK: Functions

    /// Whether a user may read and write a partition, by the app's rules.
    func access(_ user: RuleUser, _ partition: String) async throws -> (read: Bool, write: Bool) {
        guard let sync = app.definition.sync else { throw Missing(what: "sync") }
        let user = try await user.withPresentCustomData(of: app.definition, in: store)
        let context = RuleContext(app: app.definition, user: user, partition: .string(partition))
        let caller: RuleExpression.FunctionCall = { name, arguments in
            RuleFunctionResult(try await call(name, arguments, user: user))
        }
        return (
            try await sync.read.evaluate(context, callFunction: caller),
            try await sync.write.evaluate(context, callFunction: caller)
        )
    }

    /// Calls a function as the system does, in the name of a user.
    /// - Parameter writes: after how many writes the process dies; `nil` never.
    /// - Throws: `FunctionFailure`; `Crash`.
    @discardableResult
    func call(
        _ function: String, _ arguments: [Value], user: RuleUser? = nil, crashingAfter writes: Int? = nil
    ) async throws -> Value {
        let effects = DocumentEffects(store: store, app: app.id, definition: app.definition)
        let rest = Locked((writes: writes ?? .max, isDead: false))
        let result: Value
        do {
            result = try await hosts.run(
                FunctionInvocation(
                    bundle: FunctionBundle(app.definition, version: app.version), function: function,
                    arguments: arguments,
                    context: FunctionContext(app: app.definition, user: user, isSystem: true).document,
                    perform: { effect in
                        let isDead = rest.withLock { rest in
                            rest.isDead = rest.isDead || rest.writes == 0 && Self.isWrite(effect)
                            if Self.isWrite(effect) { rest.writes -= 1 }
                            return rest.isDead
                        }
                        // Nothing that the function does afterwards, such as handling the error, has an effect.
                        return isDead
                            ? .failure(EffectFailure(name: "Crash", message: "crashed")) : await effects.perform(effect)
                    }))
        } catch {
            await effects.finish()
            throw rest.withLock { $0.isDead } ? Crash() : error
        }
        await effects.finish()
        if rest.withLock({ $0.isDead }) { throw Crash() }
        return result
    }

    private static func isWrite(_ effect: FunctionEffect) -> Bool {
        ["insert", "update", "replace", "delete", "bulk", "findOneAnd", "commit"].contains {
            effect.action.hasPrefix($0)
        }
    }

    /// Calls a function until it is done, after it has died before each of its writes.
    /// - Returns: how many writes it has.
    @discardableResult
    func callWithCrashes(_ function: String, _ arguments: [Value], user: RuleUser? = nil) async throws -> Int {
        var writes = 0
        while true {
            do {
                try await call(function, arguments, user: user, crashingAfter: writes)
                return writes
            } catch is Crash {
                writes += 1
                guard writes < 100 else { throw Missing(what: "an end of the function's writes") }
            }
        }
    }

    // MARK: Triggers

    /// Runs the database triggers for every change, theirs included, until there is none left. Changes of one document are taken
    /// in their order, documents in any.
    ///
    /// - Parameter doesCrash: whether each run dies before each of its writes first, without a journal to continue from.
    /// - Returns: how many changes it took.
    /// - Throws: `Missing` when it doesn't come to an end.
    @discardableResult
    func settle(using random: inout some RandomNumberGenerator, doesCrash: Bool = false) async throws -> Int {
        var runs = 0
        while let change = try await waiting().randomElement(using: &random) {
            handled.withLock { _ = $0.insert(change.id) }
            for trigger in app.definition.triggers {
                guard case .database(let condition) = trigger.event, condition.collection == change.collection,
                    condition.operationTypes.contains(where: { $0.rawValue == change.operation })
                else { continue }
                if doesCrash {
                    try await callWithCrashes(trigger.functionName, [.document(change.event)])
                } else {
                    try await call(trigger.functionName, [.document(change.event)])
                }
            }
            runs += 1
            guard runs < 1000 else { throw Missing(what: "an end of the triggers' runs") }
        }
        return runs
    }

    @discardableResult
    func settle(doesCrash: Bool = false) async throws -> Int {
        var random = SystemRandomNumberGenerator()
        return try await settle(using: &random, doesCrash: doesCrash)
    }

    private struct Change {
        var id: String
        var collection: String
        var operation: String
        var event: Document
    }

    /// The first change of each document that no trigger has seen.
    private func waiting() async throws -> [Change] {
        let rows = try await client.query(
            """
            SELECT partition, revision, collection, _id, operation, before::text, after::text FROM partita.changes
            WHERE app = $1
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
                "operationType": .string(row.4),
                "ns": ["db": .string(app.definition.sync?.database ?? ""), "coll": .string(row.2)],
                "documentKey": ["_id": Value(idText: row.3) ?? .null],
            ]
            if let before = row.5 { event["fullDocumentBeforeChange"] = try ExtendedJSON.parse(before) }
            if let after = row.6 { event["fullDocument"] = try ExtendedJSON.parse(after) }
            first[document] = Change(id: id, collection: row.2, operation: row.4, event: event)
        }
        return first.values.sorted { $0.id < $1.id }
    }
}

/// The process died while it ran a function.
struct Crash: Error {}

/// Something isn't as the test needs it.
struct Missing: Error, CustomStringConvertible {
    var what: String
    var description: String { "there is no \(what)" }
}
