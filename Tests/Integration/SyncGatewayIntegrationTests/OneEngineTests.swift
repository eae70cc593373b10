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
    /// What is called: a method with its arguments as a document, and as a function writes it.
    private struct Operation {
        let method: String
        let arguments: Document
        let script: String
        /// Whether the data API has it.
        var isInAPI = true
    }

    private static let operations: [Operation] = [
        Operation(
            method: "insertOne",
            arguments: ["document": ["_id": 1, "n": 1, "tags": ["a", "b"], "in": ["deep": true]]],
            script: "insertOne({_id: 1, n: 1, tags: ['a', 'b'], in: {deep: true}})"),
        Operation(
            method: "insertMany",
            arguments: ["documents": [["_id": 2, "n": 2.5], ["_id": "three", "n": 3, "x": .null]]],
            script: "insertMany([{_id: 2, n: 2.5}, {_id: 'three', n: 3, x: null}])"),
        Operation(
            method: "updateOne",
            arguments: ["filter": ["n": ["$gte": 3]], "update": ["$push": ["list": ["$each": [1, 2]]]]],
            script: "updateOne({n: {$gte: 3}}, {$push: {list: {$each: [1, 2]}}})"),
        Operation(
            method: "updateOne",
            arguments: ["filter": ["_id": 1, "tags": "b"], "update": ["$set": ["tags.$": "B"]]],
            script: "updateOne({_id: 1, tags: 'b'}, {$set: {'tags.$': 'B'}})"),
        Operation(
            method: "updateMany",
            arguments: ["filter": [:], "update": [["$set": ["twice": ["$multiply": ["$n", 2]]]]]],
            script: "updateMany({}, [{$set: {twice: {$multiply: ['$n', 2]}}}])"),
        Operation(
            method: "updateOne",
            arguments: ["filter": ["_id": 7], "update": ["$setOnInsert": ["made": true]], "upsert": true],
            script: "updateOne({_id: 7}, {$setOnInsert: {made: true}}, {upsert: true})"),
        Operation(
            method: "replaceOne", arguments: ["filter": ["_id": 2], "replacement": ["name": "two"]],
            script: "replaceOne({_id: 2}, {name: 'two'})"),
        Operation(
            method: "find",
            arguments: ["filter": ["_id": ["$ne": 2]], "sort": ["twice": -1, "_id": 1], "projection": ["in": 0]],
            script: "find({_id: {$ne: 2}}, {in: 0}).sort({twice: -1, _id: 1})"),
        Operation(method: "findOne", arguments: ["filter": ["in.deep": true]], script: "findOne({'in.deep': true})"),
        Operation(method: "findOne", arguments: ["filter": ["no": "where"]], script: "findOne({no: 'where'})"),
        Operation(
            method: "aggregate",
            arguments: [
                "pipeline": [
                    ["$unwind": "$tags"], ["$group": ["_id": "$tags", "sum": ["$sum": "$n"]]], ["$sort": ["_id": 1]],
                ]
            ],
            script: "aggregate([{$unwind: '$tags'}, {$group: {_id: '$tags', sum: {$sum: '$n'}}}, {$sort: {_id: 1}}])"),
        Operation(
            method: "countDocuments", arguments: ["filter": ["n": ["$exists": true]]],
            script: "countDocuments({n: {$exists: true}})", isInAPI: false),
        Operation(
            method: "distinct", arguments: ["field": "tags", "filter": [:]], script: "distinct('tags')", isInAPI: false),
        Operation(
            method: "findOneAndUpdate",
            arguments: [
                "filter": ["_id": 1], "update": ["$inc": ["n": 10]], "returnNewDocument": true, "projection": ["n": 1],
            ],
            script: "findOneAndUpdate({_id: 1}, {$inc: {n: 10}}, {returnNewDocument: true, projection: {n: 1}})",
            isInAPI: false),
        Operation(
            method: "bulkWrite",
            arguments: [
                "operations": [
                    ["insertOne": ["document": ["_id": 8]]],
                    ["updateOne": ["filter": ["_id": 8], "update": ["$set": ["a": 1]]]],
                    ["deleteOne": ["filter": ["_id": 7]]],
                ]
            ],
            script: """
                bulkWrite([{insertOne: {document: {_id: 8}}}, {updateOne: {filter: {_id: 8}, update: {$set: {a: 1}}}},
                  {deleteOne: {filter: {_id: 7}}}])
                """, isInAPI: false),
        Operation(method: "deleteOne", arguments: ["filter": ["_id": 2]], script: "deleteOne({_id: 2})"),
        Operation(
            method: "deleteMany", arguments: ["filter": ["x": ["$type": "null"]]],
            script: "deleteMany({x: {$type: 'null'}})"),
        Operation(
            method: "insertOne", arguments: ["document": ["_id": 1]], script: "insertOne({_id: 1})"),
        Operation(
            method: "updateOne", arguments: ["filter": [:], "update": ["$no": ["a": 1]]],
            script: "updateOne({}, {$no: {a: 1}})"),
        Operation(
            method: "find", arguments: ["filter": ["a": ["$where": 1]]], script: "find({a: {$where: 1}})"),
    ]

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
        for operation in Self.operations {
            let name = "\(operation.method) \(operation.arguments)"
            let byFunction = try await function(operation, app: api.app, fixture.store, hosts)
            let byTool = try await tool(operation, app: api.app, fixture.databaseURL)
            #expect(Self.unnamed(byTool) == Self.unnamed(byFunction), "\(name)")
            if operation.isInAPI {
                let answer = try await api.call(operation.method, "API", operation.arguments)
                let byAPI = Self.result(of: answer.body)
                #expect(Self.unnamed(byAPI) == Self.unnamed(byFunction), "\(name)")
            } else {
                _ = try await DataAccess.system.perform(
                    try DocumentCall(action: operation.method, arguments: Self.placed(operation.arguments, "API")),
                    on: fixture.store, app: api.app)
            }
        }
        func left(_ collection: String) async throws -> [Document] {
            try await fixture.store.collection(collection, database: "Test", app: api.app).find(
                [:], options: FindOptions(sort: ["_id": 1]))
        }
        let documents = try await left("Function")
        #expect(documents.count == 2)
        #expect(try await left("API") == documents)
        #expect(try await left("Tool") == documents)
    }

    private static func placed(_ arguments: Document, _ collection: String) -> Document {
        var arguments = arguments
        arguments["database"] = "Test"
        arguments["collection"] = .string(collection)
        return arguments
    }

    /// A message without the collection's own name in it.
    private static func unnamed(_ answer: Value) -> Value {
        guard let text = answer.stringValue else { return answer }
        return .string(text.replacing(#/Test\.(Function|API|Tool)/#, with: "Test.It"))
    }

    /// What is in an answer of the data API; an error is its message.
    private static func result(of body: Value) -> Value {
        body["error"] ?? body["document"] ?? body["documents"] ?? body
    }

    private func function(
        _ operation: Operation, app: String, _ store: DocumentStore, _ hosts: FunctionHostPool
    ) async throws -> Value {
        let source = """
            exports = async () => {
              const collection = context.services.get("mongodb-atlas").db("Test").collection("Function");
              try {
                const result = collection.\(operation.script);
                return result.toArray ? await result.toArray() : await result;
              } catch (error) { return error.message; }
            };
            """
        let effects = DocumentEffects(store: store, app: app)
        return try await hosts.run(
            FunctionInvocation(
                bundle: FunctionBundle(
                    app: app, version: Int64(source.hashValue), functions: [.init(name: "f", text: source)]),
                function: "f", context: ["services": ["mongodb-atlas": "mongodb-atlas"]],
                perform: { await effects.perform($0) }))
    }

    private func tool(_ operation: Operation, app: String, _ databaseURL: String) async throws -> Value {
        var environment = CurrentEnvironment.variables
        environment["PARTITA_POSTGRES_URL"] = databaseURL
        let run = try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"),
            [
                "documents", "call", "Test.Tool", operation.method, ExtendedJSON.print(operation.arguments), "--app",
                app,
            ], environment: environment)
        guard run.status == .exited(0) else {
            // `partita: MongoDBError (11000): message`
            let words = run.output.split(separator: ": ", maxSplits: 2)
            return .string(String(words.last ?? "").trimmingCharacters(in: .newlines))
        }
        return try ExtendedJSON.parse(run.output)
    }
}
