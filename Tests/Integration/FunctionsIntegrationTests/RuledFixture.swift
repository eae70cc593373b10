import AppDefinition
import DocumentModel
import DocumentStore
import EventLoop
import FunctionProtocol
import Functions
import Logging
import Postgres
import SyncEngine
import TestSupport

/// A document store under the data rules of a small app, for calls of its users.
struct RuledFixture: Sendable {
    let store: DocumentStore
    let app: AppDefinition
    private let functions: RuleFunctions

    static func with(_ body: @Sendable (RuledFixture) async throws -> Void) async throws {
        let loops = LoopGroup(1)
        let app = try AppDefinition(files: files)
        let url = try await TestEngines.shared().makeDatabase()
        var configuration = PostgresConfiguration(url: url)
        // Many tests have a database at once, and share the server's connections.
        configuration.connections = 3
        // Many tests make a database at once, which a slow disk delays.
        configuration.leaseTimeout = .seconds(60)
        try await PostgresClient.withClient(configuration, on: loops) { client in
            try await DocumentStore.migrations.apply(on: client)
            let hosts = FunctionHostPool(
                configuration: .init(hosts: 1), loop: loops.next(), logger: Logger(label: "hosts"))
            let running = Task { try await hosts.run() }
            let store = DocumentStore(client: client)
            store.define(storage(of: app))
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await body(
                        RuledFixture(
                            store: store, app: app,
                            functions: RuleFunctions(hosts: hosts, store: store))))
            } catch {
                result = .failure(error)
            }
            running.cancel()
            try await running.value
            try result.get()
        }
    }

    /// The collection as the system sees it.
    func collection(_ name: String) -> DocumentCollection { store.collection(name, database: "Test", app: app.id) }

    /// Writes a value into a document that the collection's schema, deployed later, doesn't allow.
    func violate(_ id: String, path: String, with value: Value) async throws {
        store.define(AppStorage(app: app.id, syncDatabase: "", partitionKey: nil))
        _ = try await collection("File").updateOne(["_id": .string(id)], .document(["$set": [path: value]]))
        store.define(Self.storage(of: app))
    }

    private static func storage(of app: AppDefinition) -> AppStorage {
        AppStorage(app: app.id, syncDatabase: "", partitionKey: nil) { namespace, document in
            app.collection(namespace.collection, database: namespace.database)?.schema?.firstViolation(in: document)
                .map { .init(reason: $0.message, path: $0.path) }
        }
    }

    func user(_ id: String) -> DataAccess {
        .user(UserAccess(RuleUser(id: id), of: app, version: 1, functions: functions))
    }

    /// Makes a call as a user.
    @discardableResult
    func call(_ user: String, _ action: String, _ collection: String, _ arguments: Document = [:]) async throws -> Value
    {
        var arguments = arguments
        arguments["database"] = "Test"
        arguments["collection"] = .string(collection)
        return try await self.user(user).perform(
            try DocumentCall(action: action, arguments: arguments), on: store, app: app.id)
    }

    /// The name of the error that a call ends with; `nil` when it doesn't.
    func refusal(_ user: String, _ action: String, _ collection: String, _ arguments: Document) async -> String? {
        do {
            try await call(user, action, collection, arguments)
            return nil
        } catch {
            return EffectFailure(error).name
        }
    }

    // MARK: The app

    private static let files: AppFiles = [
        "realm_config.json": """
        {"config_version": 20210101, "app_id": "ruled", "name": "ruled", "location": "DE-FF", "deployment_model": "LOCAL"}
        """,
        "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#,
        "data_sources/mongodb-atlas/Test/Note/rules.json": """
        {"roles": [
            {"name": "owner", "apply_when": {"owner": "%%user.id"}, "read": true, "write": true,
             "delete": {"kept": {"%ne": true}}},
            {"name": "reader", "apply_when": {"shared": true}, "fields": {"text": {"read": true}, "n": {"read": true}}}],
         "filters": [{"name": "archive", "apply_when": {"%%true": true}, "query": {"archived": {"$ne": true}}}]}
        """,
        "data_sources/mongodb-atlas/Test/Note/schema.json": """
        {"title": "Note", "bsonType": "object", "properties": {"n": {"bsonType": "int"}}}
        """,
        "data_sources/mongodb-atlas/Test/Person/rules.json": """
        {"roles": [{"name": "all", "apply_when": {}, "fields": {"salary": {"read": {"_id": "%%user.id"}}},
                    "additional_fields": {"read": true}}]}
        """,
        "data_sources/mongodb-atlas/Test/Message/rules.json": """
        {"roles": [{"name": "member", "read": true, "write": {"author": "%%user.id"}, "apply_when": {
            "%%true": {"%function": {"name": "isMember", "arguments": ["%%root.room"]}}}}]}
        """,
        "data_sources/mongodb-atlas/Test/Open/rules.json": """
        {"roles": [{"name": "open", "read": true, "write": true, "apply_when": {
            "%%true": {"%function": {"name": "isOpen", "arguments": ["%%root"]}}}}]}
        """,
        "data_sources/mongodb-atlas/Test/Offer/rules.json": """
        {"roles": [{"name": "all", "apply_when": {}, "read": true}],
         "filters": [{"name": "current", "apply_when": {"%%true": true}, "query": {"$expr": {"$gt": ["$until", "$$NOW"]}}}]}
        """,
        "data_sources/mongodb-atlas/Test/Mine/rules.json": """
        {"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}],
         "filters": [{"name": "own", "apply_when": {"%%true": true}, "query": {"owner": "%%user.id"}},
                     {"name": "own again", "apply_when": {"%%true": true}, "query": {"$and": [{"owner": {"$eq": "%%user.id"}}]}}]}
        """,
        "data_sources/mongodb-atlas/Test/Broken/rules.json": """
        {"roles": [{"name": "all", "read": true, "apply_when": {"%%true": {"%function": {"name": "fails", "arguments": []}}}}]}
        """,
        "data_sources/mongodb-atlas/Test/File/rules.json": """
        {"roles": [{"name": "clerk", "apply_when": {"clerk": "%%user.id"}, "fields": {
            "clerk": {"read": true}, "open": {"read": true, "write": true}, "n": {"read": true, "write": true},
            "list": {"read": true, "write": true},
            "profile": {"fields": {"name": {"read": true, "write": true}, "age": {"read": true, "write": true}}}}}]}
        """,
        "data_sources/mongodb-atlas/Test/File/schema.json": """
        {"title": "File", "bsonType": "object", "properties": {"old": {"bsonType": "int"}, "n": {"bsonType": "int"}}}
        """,
        "data_sources/mongodb-atlas/Test/Pad/rules.json": """
        {"roles": [{"name": "all", "apply_when": {}, "delete": true, "fields": {
            "text": {"read": true, "write": true}, "inner": {"fields": {"a": {"read": true, "write": true}}}}}]}
        """,
        "data_sources/mongodb-atlas/Test/Card/rules.json": """
        {"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}],
         "filters": [{"name": "cut", "apply_when": {"%%true": true}, "query": {},
                      "projection": {"ssn": 0, "long": 0, "profile.ssn": 0, "list.ssn": 0}}]}
        """,
        "functions/config.json":
            #"[{"name": "isMember", "private": true}, {"name": "isOpen", "private": true}, {"name": "fails", "private": true}]"#,
        "functions/isMember.js": """
        exports = async room => {
            const rooms = context.services.get("mongodb-atlas").db("Test").collection("Room");
            return (await rooms.findOne({ _id: room }))?.members.includes(context.user.id) ?? false;
        };
        """,
        "functions/isOpen.js": "exports = document => document.open === true;",
        "functions/fails.js": "exports = () => { throw new Error('it fails'); };",
    ]
}
