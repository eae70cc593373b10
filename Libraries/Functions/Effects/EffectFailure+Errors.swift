import AppDefinition
import DocumentStore
public import FunctionProtocol
import QueryLanguage

extension EffectFailure {
    /// What a script or a client sees of an error: MongoDB's name and number, or App Services' name, where there is one.
    public init(_ error: any Error) {
        switch error {
        case let failure as EffectFailure: self = failure
        case let error as DocumentStoreError:
            self.init(name: "MongoDBError", message: error.message, code: error.mongoCode)
        case let error as BulkWriteError:
            let first = error.failures.min { $0.key < $1.key }?.value
            self.init(
                name: "MongoDBError", message: first?.message ?? "the writes failed", code: first?.mongoCode ?? 8)
        case let error as QueryError: self.init(name: "MongoDBError", message: error.message, code: error.code)
        case let refusal as RuleRefusal: self.init(name: RuleRefusal.code, message: refusal.message)
        case let error as RuleSyntaxError:
            self.init(name: RuleRefusal.code, message: "a rule of the app can't be read: \(error)")
        default: self.init(name: "MongoDBError", message: "the document store failed; the service's log says why")
        }
    }
}
