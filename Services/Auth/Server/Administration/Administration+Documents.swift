import AppRegistry
import DocumentModel
import DocumentStore
import Functions
import Postgres
import ServiceEngines
import SyncEngine

/// Documents and indexes, as the administrator, to whom no data rule applies.
extension Administration {
    /// How long a call may read or write documents.
    private static let documentsTime = Duration.seconds(60)
    /// The documents of one answer, and their bytes.
    private static let answerLimit = (documents: 1000, bytes: 8 << 20)
    /// The documents that one transaction reads and writes, in bytes: they are in the memory of a service at which users sign in.
    private static let transactionBytes = 32 << 20

    func performOnDocuments(_ call: AdminCall) async throws -> AdminAnswer {
        let app = try await deployments.deployed(call.app)
        let store = store(of: app)
        let method = call.parameter("method") ?? ""
        guard DocumentCall.actions.contains(method) else {
            throw AuthError(.invalidParameter, "there is no method \(method) of a collection")
        }
        var arguments = try call.document()
        arguments["database"] = .string(call.parameter("database") ?? "")
        arguments["collection"] = .string(call.parameter("collection") ?? "")
        let documentCall = try DocumentCall(action: method, arguments: arguments)
        guard documentCall.changesDocuments == (call.action == .writeDocuments) else {
            throw AuthError(
                .invalidParameter,
                documentCall.changesDocuments
                    ? "\(method) writes, and is called by …/write" : "\(method) reads, and is called by …/read"
            )
        }
        if documentCall.changesDocuments {
            let result = try await DataAccess.performWhole(
                documentCall, on: store, app: app.id, within: Self.documentsTime, beforeCommit: recording)
            return AdminAnswer(["result": result])
        }
        guard method == "find" || method == "aggregate" else {
            let result = try await DataAccess.system.performForClient(
                documentCall, on: store, app: app.id, within: Self.documentsTime)
            return AdminAnswer(["result": try Self.bounded(result)])
        }
        let found = try await DataAccess.firstDocuments(
            of: documentCall, on: store, app: app.id, count: Self.answerLimit.documents,
            bytes: Self.answerLimit.bytes, within: Self.documentsTime)
        return AdminAnswer([
            "documents": .array(found.documents.map(Value.document)), "isComplete": .bool(found.isComplete),
        ])
    }

    /// A document is answered whatever its size, since the store has a limit for it; the values of `distinct` can be any number.
    private static func bounded(_ result: Value) throws(AuthError) -> Value {
        guard case .array = result, ExtendedJSON.print(result).utf8.count > answerLimit.bytes else { return result }
        throw AuthError(.requestEntityTooLarge, "the answer would have more than \(answerLimit.bytes) bytes")
    }

    private func store(of app: DeployedApp) -> DocumentStore {
        let store = DocumentStore(client: client, maximumTransactionBytes: Self.transactionBytes, clock: clock)
        store.define(AppStorage(app.definition))
        return store
    }

    // MARK: Indexes

    func performOnIndexes(_ call: AdminCall) async throws -> AdminAnswer {
        let app = try await deployments.deployed(call.app)
        guard let database = call.text("database") ?? app.definition.sync?.database else {
            throw AuthError(.missingParameter, "database is missing, and the app syncs none")
        }
        let collection = store(of: app).collection(
            try call.requiredText("collection"), database: database, app: app.id)
        switch call.action {
        case .createIndex:
            let model = try IndexModel(try call.document())
            // Indexes aren't made in a transaction, so that the record is written before one is.
            try await client.withTransaction { try await recording($0) }
            return AdminAnswer(["index": .string(try await collection.createIndex(model))])
        case .dropIndex:
            try await client.withTransaction { try await recording($0) }
            try await collection.dropIndex(call.parameter("index") ?? "")
            return AdminAnswer()
        default: return AdminAnswer(["indexes": .array(try await collection.listIndexes().map(Value.document))])
        }
    }
}
