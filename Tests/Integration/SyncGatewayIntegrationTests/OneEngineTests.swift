import ChildProcesses
import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import FunctionProtocol
import Functions
import Logging
import TestSupport
import Testing

/// The same operations through a function, the data API and the tool: one engine, so one answer and the same documents.
@Suite struct OneEngineTests {
    private static let collections = ["Function", "API", "Tool"]

    /// Calls a method as a function does, with positional arguments in their places.
    private static let script = """
        const places = {
          find: ["filter", "projection"], findOne: ["filter", "projection"], aggregate: ["pipeline"],
          insertOne: ["document"], insertMany: ["documents"], updateOne: ["filter", "update"],
          updateMany: ["filter", "update"], replaceOne: ["filter", "replacement"], deleteOne: ["filter"],
          deleteMany: ["filter"], findOneAndUpdate: ["filter", "update"], findOneAndReplace: ["filter", "replacement"],
          findOneAndDelete: ["filter"], count: ["filter"], countDocuments: ["filter"], estimatedDocumentCount: [],
          distinct: ["field", "filter"], bulkWrite: ["operations"],
        };
        exports = async (method, { ...options }) => {
          const collection = context.services.get("mongodb-atlas").db("Test").collection("Function");
          const take = name => { const value = options[name]; delete options[name]; return value; };
          try {
            const given = places[method].map(take);
            const steps = method === "find" ? ["sort", "skip", "limit", "hint"].map(name => [name, take(name)]) : [];
            let result = collection[method](...given, options);
            for (const [name, value] of steps) if (value !== undefined) result = result[name](value);
            return result.toArray ? await result.toArray() : await result;
          } catch (error) { return { code: error.code, message: error.message }; }
        };
        """

    @Test func `a function, the data API and the tool get the same answers and leave the same documents`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let api = try await fixture.deploy(
            "one-" + ObjectId().hexString,
            rules: ["default_rule": #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#])
        let hosts = FunctionHostPool(
            configuration: .init(hosts: 1), loop: GatewayFixture.loops.next(), logger: Logger(label: "hosts"))
        let running = Task { try await hosts.run() }
        defer { running.cancel() }
        for name in Self.collections {
            try await fixture.store.collection(name, database: "Test", app: api.app).createIndex(
                IndexModel([.init("n")]))
        }
        for operation in EngineOperation.all {
            async let byFunction = function(operation, app: api.app, fixture.store, hosts)
            async let byTool = tool(operation, app: api.app, fixture.databaseURL)
            let byAPI = Self.result(of: try await api.call(operation.method, "API", operation.arguments).body)
            let answer = try await byFunction
            #expect(answer["code"]?.intValue == operation.code, "\(operation): \(answer)")
            #expect(try await byTool == answer, "\(operation)")
            #expect(byAPI == (operation.code == nil ? answer : answer["message"]), "\(operation)")
        }
        func left(_ collection: String) async throws -> [Document] {
            try await fixture.store.collection(collection, database: "Test", app: api.app).find(
                [:], options: FindOptions(sort: ["_id": 1]))
        }
        let documents = try await left("Function")
        #expect(documents.count == 5)
        for name in ["API", "Tool"] {
            let others = try await left(name)
            #expect(others.count == documents.count)
            for (document, other) in zip(documents, others) {
                #expect(other.isIdentical(to: document), "\(name): \(other) instead of \(document)")
            }
        }
    }

    @Test func `all three show what of a find and of a pipeline Postgres evaluates`() async throws {
        let fixture = try await GatewayFixture.shared()
        let api = try await fixture.deploy(
            "explain-" + ObjectId().hexString,
            rules: ["default_rule": #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#])
        for name in Self.collections {
            let collection = fixture.store.collection(name, database: "Test", app: api.app)
            try await collection.insertMany((0..<5).map { ["_id": .integer($0), "n": .integer($0), "s": "x"] })
            try await collection.createIndex(IndexModel([.init("n")]))
        }
        let stages: Value = [
            ["$match": ["s": "x"]], ["$sort": ["n": -1]], ["$limit": 3],
            ["$group": ["_id": .null, "n": ["$sum": "$n"]]],
        ]
        let byTool = try await run(
            ["documents", "explain", "Test.Tool", "--pipeline", ExtendedJSON.print(stages)], app: api.app,
            fixture.databaseURL)
        let byTools = try #require(try? ExtendedJSON.parse(byTool.output))
        let expected: Value = [
            ["stage": "$match", "in": "both"], ["stage": "$sort", "in": "postgres"],
            ["stage": "$limit", "in": "postgres"],
            ["stage": "$group", "in": "here"],
        ]
        #expect(byTools["stages"] == expected)
        #expect(byTools["indexes"] == ["n_1"])
        #expect(byTools["postgres"]?.arrayValue?.last?["plan"]?.arrayCount ?? 0 > 0)
        let hosts = FunctionHostPool(
            configuration: .init(hosts: 1), loop: GatewayFixture.loops.next(), logger: Logger(label: "hosts"))
        let running = Task { try await hosts.run() }
        defer { running.cancel() }
        let byFunction = try await function(
            """
            exports = async stages => {
              const collection = context.services.get("mongodb-atlas").db("Test").collection("Function");
              return [await collection.aggregate(stages).explain(), await collection.find({s: "x"}).sort({n: 1}).explain()];
            };
            """, [stages], app: api.app, fixture.store, hosts)
        #expect(byFunction[0]?["stages"] == expected)
        #expect(byFunction[1]?["indexes"] == ["n_1"])
        // A user doesn't get statements and plans, which would reveal something about others' documents.
        let byAPI = try await api.call("explain", "API", ["pipeline": stages]).body
        #expect(byAPI["indexes"] == ["n_1"] && byAPI["postgres"] == nil)
        #expect(
            byAPI["stages"] == [
                ["stage": "$match", "in": "both"], ["stage": "$sort", "in": "both"], ["stage": "$limit", "in": "here"],
                ["stage": "$group", "in": "here"],
            ])
    }

    /// The content of an answer of the data API; for an error its message.
    private static func result(of body: Value) -> Value {
        for name in ["error", "document", "documents", "count", "values"] {
            if let value = body[name] { return neutral(value) }
        }
        return body
    }

    /// An error's message names the collection.
    private static func neutral(_ value: Value) -> Value {
        guard case .string(let text) = value else { return value }
        return .string(collections.reduce(text) { $0.replacingOccurrences(of: "Test.\($1)", with: "Test.Any") })
    }

    private static func failure(code: Int?, _ message: String) -> Value {
        ["code": code.map { .integer($0) } ?? .null, "message": neutral(.string(message))]
    }

    private func function(
        _ operation: EngineOperation, app: String, _ store: DocumentStore, _ hosts: FunctionHostPool
    ) async throws -> Value {
        let result = try await function(
            Self.script, [.string(operation.method), .document(operation.arguments)], app: app, store, hosts)
        guard operation.code != nil, let message = result["message"]?.stringValue else { return result }
        return Self.failure(code: result["code"]?.intValue, message)
    }

    private func function(
        _ source: String, _ arguments: [Value], app: String, _ store: DocumentStore, _ hosts: FunctionHostPool
    ) async throws -> Value {
        let effects = DocumentEffects(store: store, app: app)
        return try await hosts.run(
            FunctionInvocation(
                bundle: FunctionBundle(
                    app: app, version: Int64(source.hashValue), functions: [.init(name: "f", text: source)]),
                function: "f", arguments: arguments, context: ["services": ["mongodb-atlas": "mongodb-atlas"]],
                perform: { await effects.perform($0) }))
    }

    private func tool(_ operation: EngineOperation, app: String, _ databaseURL: String) async throws -> Value {
        let run = try await run(
            ["documents", "call", "Test.Tool", operation.method, ExtendedJSON.print(operation.arguments)], app: app,
            databaseURL)
        guard run.status != .exited(0) else { return try ExtendedJSON.parse(run.output) }
        // `partita: MongoDBError (11000): message`
        let words = run.output.split(separator: ": ", maxSplits: 2).map(String.init)
        guard words.count == 3 else { return .string(run.output) }
        return Self.failure(code: Int(words[1].filter(\.isNumber)), words[2].trimmingCharacters(in: .newlines))
    }

    private func run(_ words: [String], app: String, _ databaseURL: String) async throws -> CapturedRun {
        var environment = CurrentEnvironment.variables
        environment["PARTITA_POSTGRES_URL"] = databaseURL
        return try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), words + ["--app", app], environment: environment)
    }
}
