import AppDefinition
import DocumentModel
import DocumentStore
public import FunctionProtocol
import Logging
import Postgres
import QueryLanguage

extension EffectFailure {
    /// The form of an error that a script or a client gets: MongoDB's name and number, or App Services' name where there is one.
    public init(_ error: any Error) {
        switch DocumentStoreError(ofCall: error) ?? error {
        case let failure as EffectFailure: self = failure
        case let error as DocumentStoreError:
            var details = error.details ?? [:]
            if !error.errorLabels.isEmpty { details["errorLabels"] = .array(error.errorLabels.map { .string($0) }) }
            // App Services has a name of its own for what a schema refuses.
            let name = error.code == .schemaViolation ? "SchemaValidationFailedWrite" : "MongoDBError"
            self.init(name: name, message: error.message, code: error.mongoCode, details: details)
        case let error as BulkWriteError: self.init(error)
        case let error as QueryError: self.init(name: "MongoDBError", message: error.message, code: error.code)
        case let refusal as RuleRefusal: self.init(name: RuleRefusal.code, message: refusal.message)
        case let error as RuleSyntaxError:
            self.init(name: RuleRefusal.code, message: "a rule of the app can't be read: \(error)")
        default:
            Self.logger.error("a call of the document store failed", metadata: ["error": "\(error)"])
            self.init(name: "MongoDBError", message: "the document store failed; see the service's log for the reason")
        }
    }

    private static let logger = Logger(label: "functions")

    /// A `BulkWriteError` in the form of MongoDB's drivers: the message and code of the first failed write, all failed writes with
    /// their indexes in `writeErrors`, and the counts of the successful ones in `result`.
    private init(_ error: BulkWriteError) {
        let failures = error.failures.sorted { $0.key < $1.key }
        let writeErrors = failures.map { place, failure -> Value in
            var entry: Document = [
                "index": .int32(Int32(clamping: place)), "code": .int32(Int32(clamping: failure.mongoCode ?? 8)),
                "errmsg": .string(failure.message),
            ]
            for field in failure.details?.fields ?? [] { entry[field.key] = field.value }
            return .document(entry)
        }
        let first = failures.first?.value
        self.init(
            name: "MongoDBError", message: first?.message ?? "the writes failed", code: first?.mongoCode ?? 8,
            details: ["writeErrors": .array(writeErrors), "result": DocumentCall.answer(error.result)])
    }
}

extension DocumentStoreError {
    /// What a failed call of the store failed with; `nil` for errors of other kinds.
    init?(ofCall error: any Error) {
        switch error {
        case let error as DocumentStoreError: self = error
        case let error as PostgresError: self.init(error)
        // The run was ended, or its service stops: the store didn't fail, and neither did the function.
        case is CancellationError: self.init(.unavailable, "the call was cancelled")
        default: return nil
        }
    }
}
