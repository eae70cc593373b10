import DocumentModel
import DocumentStore
import Foundation
import FunctionProtocol
import Functions

/// The documents of an app, as the commands `documents …` access them: as the administrator, to whom no rules apply.
///
/// Their writes are published by the running services, which poll for them.
struct AppDocuments: Sendable {
    let app: String
    let namespace: ChangeEvent.Namespace
    let store: DocumentStore

    static let namespaceParameter = "DATABASE.COLLECTION"
    static let options: [Command.Option] = [
        Command.appOption, LocalConfiguration.option,
    ]

    static let hintOption = Command.Option(
        "hint", value: "INDEX", "the index to use, by its name or its keys; $natural for none")

    /// `--hint`: a document of keys, or a name.
    static func hint(of arguments: Arguments) throws -> Value? {
        try arguments.value("hint").map { $0.hasPrefix("{") ? try value($0, "--hint") : .string($0) }
    }

    var collection: DocumentCollection {
        store.collection(namespace.collection, database: namespace.database, app: app)
    }

    /// Runs `body` with the collection that the command's arguments name.
    static func with(_ arguments: Arguments, _ body: @Sendable (AppDocuments) async throws -> Void) async throws {
        let name = try arguments.required(namespaceParameter)
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw UsageError("\(name) isn't DATABASE.COLLECTION") }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let (store, app) = try await tool.store(of: arguments.app)
            let documents = AppDocuments(
                app: app.id, namespace: .init(database: parts[0], collection: parts[1]), store: store)
            try await body(documents)
        }
    }

    /// Performs one of the calls that functions and clients can make.
    func call(_ action: String, _ arguments: Document) async throws -> Value {
        var arguments = arguments
        arguments["database"] = .string(namespace.database)
        arguments["collection"] = .string(namespace.collection)
        return try await DataAccess.system.perform(
            try DocumentCall(action: action, arguments: arguments), on: store, app: app)
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
    static func stages(_ text: String, _ name: String) throws -> [Document] {
        guard let stages = try value(text, name).arrayValue else { throw UsageError("\(name) is no array of stages") }
        return try stages.map { stage in
            guard let stage = stage.documentValue else { throw UsageError("\(name) is no array of stages") }
            return stage
        }
    }

    /// Prints a value in one line on standard output, with its types.
    static func show(_ value: Value) { Output.line(ExtendedJSON.print(value)) }
}
