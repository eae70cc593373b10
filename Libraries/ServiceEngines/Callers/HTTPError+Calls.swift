import DocumentStore
public import FunctionProtocol
import Functions
public import HTTPServer

extension HTTPError {
    /// How a client is told that a function gave no value.
    public init(_ failure: FunctionFailure) { self.init(400, code: failure.code.rawValue, failure.message) }

    /// How a client is told that a call of the document store failed, by what `DataAccess` or `DocumentTurns` threw.
    public init(call error: any Error) {
        if let error = error as? DocumentStoreError, error.code == .overloaded {
            self.init(429, code: "TooManyRequests", error.message, headers: ["Retry-After": "1"])
            return
        }
        let failure = EffectFailure(error)
        switch failure.name {
        case "NoMatchingRuleFound": self.init(403, code: failure.name, failure.message)
        case "MongoDBError" where failure.code == nil:
            // No answer of the store's, but its absence.
            self.init(503, code: "ServiceUnavailable", failure.message)
        default: self.init(400, code: failure.name, failure.message)
        }
    }
}
