public import DocumentModel
import Foundation
import Postgres
import QueryLanguage

/// A collection of an app, with the operations of MongoDB's drivers. The same code serves functions, the data API, the services and
/// the tool.
///
/// Every write is numbered and leaves a change row. Outside of a transaction each call commits for itself, and
/// `updateMany` and `deleteMany` commit in parts, as MongoDB's are atomic per document only. Writes throw
/// ``DocumentStoreError``; its `mongoCode` is MongoDB's.
public struct DocumentCollection: Sendable {
    let store: DocumentStore
    /// The time that `$$NOW` has outside of a session, in milliseconds since 1970.
    public var now: Int64 { store.clock.now() }
    /// The app's id.
    public let app: String
    /// Database and collection.
    public let namespace: ChangeEvent.Namespace
    let session: DocumentSession?

    /// Runs writes in the session, or in a transaction of their own.
    func write<R: Sendable>(
        flushes: Bool = false, within limit: TimeLimit = TimeLimit(nil), beforeCommit: CommitHook?,
        _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        do {
            try limit.check()
            guard let session else {
                return try await store.run(
                    app: app, flushes: flushes, within: limit, beforeCommit: beforeCommit, body)
            }
            if beforeCommit != nil {
                throw DocumentStoreError(.notSupported, "the hook is given to withTransaction, not to its operations")
            }
            return try await session.limited(by: limit) {
                let result = try await body(session)
                try await session.flush()
                return result
            }
        } catch let error as PostgresError {
            throw await store.translated(error)
        }
    }

    /// The table; `nil` for a collection that was never written to.
    func table() async throws -> CollectionTable? {
        guard let table = try await store.tables.existing(namespace, of: app) else { return nil }
        return try await store.tables.indexed(table)
    }

    /// The table, which is created if it doesn't exist.
    func ensuredTable() async throws -> CollectionTable {
        try await store.tables.indexed(store.tables.ensured(namespace, of: store.storage(of: app)))
    }

    func filter(_ document: Document, collation: Document? = nil, variables: Document = [:]) throws -> Filter {
        let constants = try constants(variables)
        do {
            return try Filter(document, collation: collation.flatMap { try Collation($0) }, constants: constants)
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// The values of a command's `let`.
    func constants(_ variables: Document) throws -> [ExactText: Value] {
        do {
            if variables.isEmpty { return [:] }
            return try CommandVariables(variables, now: store.clock.now()).values
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    func collation(_ document: Document?) throws -> Collation? {
        do {
            return try document.flatMap { try Collation($0) }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// The name of the index that a hint means; `$natural`, which no index is called, if none is to be used.
    func hinted(_ hint: Value?, on table: CollectionTable) throws(DocumentStoreError) -> String? {
        guard let hint else { return nil }
        switch hint {
        case .string("$natural"): return "$natural"
        case .document(let keys) where keys["$natural"] != nil: return "$natural"
        case .document(let keys) where keys.isEmpty: return nil
        case .string("_id_"), .document(["_id": 1]): return "_id_"
        case .string(let name) where table.declaredIndexes.contains { $0.name.hasSameBytes(as: name) }: return name
        case .document(let keys):
            if let index = table.declaredIndexes.first(where: { $0.keyPattern == keys }) { return index.name }
        case .string: break
        default: throw DocumentStoreError(.badFilter, "Hint must be a string or an object", mongoCode: 9)
        }
        throw DocumentStoreError(
            .badFilter, "hint provided does not correspond to an existing index", mongoCode: 2)
    }

    /// A filter, and separately its `$text`, which only Postgres can evaluate.
    func parse(
        _ document: Document, collation: Document? = nil, variables: Document = [:]
    ) throws -> (filter: Filter, text: TextQuery?) {
        var document = document
        let text = try TextQuery.extract(from: &document)
        return (try filter(document, collation: collation, variables: variables), text)
    }

    func parse(_ document: Document, _ options: FindOptions) throws -> (filter: Filter, text: TextQuery?) {
        try parse(document, collation: options.collation, variables: options.variables)
    }

    /// How documents are read without a sort.
    func naturalRead(
        _ found: TranslatedFilter, of filter: Filter, in table: CollectionTable, hint: Value?, order: NaturalOrder
    ) throws -> NaturalRead {
        NaturalRead(
            found, of: filter, in: table, partitionKey: try store.storage(of: app).partitionKey(of: table.namespace),
            order: order,
            isHinted: try order == .backward || hinted(hint, on: table) == "$natural")
    }

    func translation(
        of parsed: (filter: Filter, text: TextQuery?), on table: CollectionTable, hint: Value? = nil,
        tellingDoubt: Bool = false
    ) throws -> TranslatedFilter {
        if parsed.text != nil, hint != nil {
            throw DocumentStoreError(.badFilter, "text and hint not allowed in same query", mongoCode: 2)
        }
        var translation = FilterTranslation(
            partitionKey: try store.storage(of: app).partitionKey(of: table.namespace), indexes: table.indexes,
            hint: try hinted(hint, on: table))
        var condition = translation.translate(parsed.filter)
        let text = try parsed.text?.sql(by: table.indexes) { translation.bind($0) }
        if let text { condition.sql = "\(text.condition) and (\(condition.sql))" }
        let used = translation.used
        let certain =
            tellingDoubt && text == nil && !condition.isExact ? translation.certain(parsed.filter) : nil
        return TranslatedFilter(
            condition: condition, doubt: certain.map { "(\($0)) is not true" }, parameters: translation.parameters,
            score: text?.score, indexes: used.map(\.model.name) + (text.map { [$0.index] } ?? []))
    }
}

/// A filter as Postgres evaluates it.
struct TranslatedFilter: Sendable {
    let condition: FilterTranslation.Condition
    /// The documents that meet an inexact condition but may not match; all others that meet the condition match. If it was
    /// requested, a statement has to contain both conditions, since the parameters are shared.
    let doubt: String?
    let parameters: [PostgresValue]
    /// The SQL of a `$text`'s score.
    let score: String?
    /// The names of the indexes that conditions were built for.
    let indexes: [String]
}

extension DocumentStoreError {
    /// The error with MongoDB's code.
    init(query error: any Error, _ code: Code) {
        if let error = error as? QueryError {
            self.init(
                error.code == 50 ? .timeLimit : code, error.message, mongoCode: error.code, underlying: error)
        } else {
            self.init(code, "\(error)", underlying: error)
        }
    }

    /// The error for the caller of an operation that failed in Postgres.
    public init(_ error: PostgresError) { self.init(error, in: nil) }

    /// - Parameter table: The table that was written to, if it is known: its indexes show which key is a duplicate.
    init(_ error: PostgresError, in table: CollectionTable?) {
        if error.isUniqueViolation {
            self.init(duplicate: error, in: table)
        } else if error.sqlstate == "PT115" {
            self.init(.notSupported, error.message, mongoCode: 115, path: error.column, underlying: error)
        } else if error.isDataException || error.failureClass == .refused {
            let reason = error.sqlstate.map { "SQLSTATE \($0)" } ?? error.message
            self.init(
                .badValue, "a value of the request can't be stored or computed with: \(reason)", mongoCode: 2,
                underlying: error)
        } else if error.sqlstate == "57014" {
            self.init(.timeLimit, "operation exceeded time limit", mongoCode: 50, underlying: error)
        } else if error.sqlstate == "55P03" || error.sqlstate == "40P01" || error.sqlstate == "40001" {
            self.init(.busy, "a document is locked by another transaction", mongoCode: 112, underlying: error)
        } else {
            // The caller gets only the kind of failure; the log has the object's name.
            let state = error.sqlstate.map { ", SQLSTATE \($0)" } ?? ""
            self.init(.unavailable, "the database can't do it now\(state)", underlying: error)
        }
    }
}
