import Auth
import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions

/// The documents of an app, as the commands `documents …` access them: as the administrator, to whom no rules apply; on Postgres, or by
/// the API of a server.
///
/// Their writes are published by the running services, which poll for them.
struct AppDocuments: Sendable {
    private enum Place: Sendable {
        case postgres(DocumentStore)
        case server(AdminSession)
    }

    let app: String
    let namespace: ChangeEvent.Namespace
    private let place: Place

    static let namespaceParameter = "DATABASE.COLLECTION"
    static let options: [Command.Option] = [Command.appOption] + AdminSession.options

    static let hintOption = Command.Option(
        "hint", value: "INDEX", "the index to use, by its name or its keys; $natural for none")

    /// `--hint`: a document of keys, or a name.
    static func hint(of arguments: Arguments) throws -> Value? {
        try arguments.value("hint").map { $0.hasPrefix("{") ? try value($0, "--hint") : .string($0) }
    }

    /// Runs `body` with the collection that the command's arguments name.
    static func with(_ arguments: Arguments, _ body: @Sendable (AppDocuments) async throws -> Void) async throws {
        let name = try arguments.required(namespaceParameter)
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw UsageError("\(name) isn't DATABASE.COLLECTION") }
        let namespace = ChangeEvent.Namespace(database: parts[0], collection: parts[1])
        if arguments.value("server") != nil {
            return try await AdminSession.run(arguments) { session in
                let app = try await session.app(arguments.app)
                try await body(AppDocuments(app: app, namespace: namespace, place: .server(session)))
            }
        }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let (store, app) = try await tool.store(of: arguments.app)
            try await body(AppDocuments(app: app.id, namespace: namespace, place: .postgres(store)))
        }
    }

    /// Performs one of the calls that functions and clients can make.
    func call(_ action: String, _ arguments: Document) async throws -> Value {
        let call = try documentCall(action, arguments)
        switch place {
        case .postgres(let store): return try await DataAccess.system.perform(call, on: store, app: app)
        case .server(let session):
            let answer = try await session.document(
                adminCall(call.changesDocuments ? .writeDocuments : .readDocuments, action, arguments))
            guard let documents = answer["documents"] else { return answer["result"] ?? .null }
            guard answer["isComplete"] == true else { throw Self.incomplete(documents.arrayValue?.count ?? 0) }
            return documents
        }
    }

    /// Passes the documents of a `find` or an `aggregate` to `body` as they are found.
    func forEach(_ action: String, _ arguments: Document, _ body: (Document) -> Void) async throws {
        let call = try documentCall(action, arguments)
        switch place {
        case .postgres(let store):
            try await DataAccess.forEachDocument(of: call, on: store, app: app) { document in
                body(document)
                return true
            }
        case .server(let session):
            // A pipeline that writes has no documents.
            if call.changesDocuments {
                _ = try await session.document(adminCall(.writeDocuments, action, arguments))
            } else {
                try await forEach(action, arguments, by: session, body)
            }
        }
    }

    /// Page by page: documents that are inserted or deleted meanwhile may be missing, or come twice.
    private func forEach(
        _ action: String, _ arguments: Document, by session: AdminSession, _ body: (Document) -> Void
    ) async throws {
        var page = arguments
        while true {
            let answer = try await session.document(adminCall(.readDocuments, action, page))
            let documents = (answer["documents"]?.arrayValue ?? []).compactMap(\.documentValue)
            for document in documents { body(document) }
            if answer["isComplete"] == true { return }
            guard action == "find", !documents.isEmpty else { throw Self.incomplete(documents.count) }
            let count = Int64(documents.count)
            page["skip"] = .int64((page["skip"]?.int64Value ?? 0) + count)
            if let limit = page["limit"]?.int64Value { page["limit"] = .int64(limit - count) }
        }
    }

    private static func incomplete(_ count: Int) -> ToolError {
        ToolError("the server answers with \(count) results of more: narrow the call, or end it with $skip and $limit")
    }

    private func documentCall(_ action: String, _ arguments: Document) throws -> DocumentCall {
        var arguments = arguments
        arguments["database"] = .string(namespace.database)
        arguments["collection"] = .string(namespace.collection)
        return try DocumentCall(action: action, arguments: arguments)
    }

    private func adminCall(_ action: AdminAction, _ method: String, _ arguments: Document) -> AdminCall {
        AdminCall(
            action,
            [
                "app": app, "database": namespace.database, "collection": namespace.collection, "method": method,
            ], body: Array(ExtendedJSON.print(.document(arguments)).utf8))
    }

    // MARK: Words and lines

    /// Parses an argument as an Extended JSON document.
    static func document(_ text: String?, _ name: String) throws -> Document {
        guard let text else { return [:] }
        do {
            return try ExtendedJSON.parseDocument(text, limits: .input)
        } catch {
            throw UsageError("\(name) is no Extended JSON object: \(error)")
        }
    }

    static func value(_ text: String, _ name: String) throws -> Value {
        do {
            return try ExtendedJSON.parse(text, limits: .input)
        } catch {
            throw UsageError("\(name) is no Extended JSON: \(error)")
        }
    }

    /// Parses an argument as the stages of a pipeline.
    static func stages(_ text: String, _ name: String) throws -> Value {
        let stages = try value(text, name)
        guard stages.arrayValue?.allSatisfy({ $0.documentValue != nil }) == true else {
            throw UsageError("\(name) is no array of stages")
        }
        return stages
    }

    /// Prints a value in one line on standard output, with its types.
    static func show(_ value: Value) { Output.line(ExtendedJSON.print(value)) }
}
