import DocumentModel
import DocumentStore
import FunctionProtocol
import Functions
import QueryLanguage

/// A call that the store refused, in MongoDB's terms: `MongoDBError (11000): E11000 duplicate key error …`.
struct CallFailure: Error, CustomStringConvertible {
    private let failure: EffectFailure

    /// - Returns: `nil` for an error that isn't a refusal of the store.
    init?(_ error: any Error) {
        switch error {
        case let error as DocumentStoreError where error.code == .unavailable: return nil
        case is DocumentStoreError, is BulkWriteError, is QueryError, is EffectFailure:
            failure = EffectFailure(error)
        default: return nil
        }
    }

    var description: String {
        failure.code.map { "\(failure.name) (\($0)): \(failure.message)" } ?? "\(failure.name): \(failure.message)"
    }

    /// The tool's message for an error.
    static func text(_ error: any Error) -> String {
        CallFailure(error)?.description ?? (error as? DocumentStoreError)?.message ?? "\(error)"
    }
}
