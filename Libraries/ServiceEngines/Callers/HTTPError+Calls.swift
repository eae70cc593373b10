import DocumentStore
public import FunctionProtocol
import Functions
public import HTTPServer

extension HTTPError {
    /// The response to a client when a function failed.
    /// - Parameter link: the URL of the log that has the failure.
    public init(_ failure: FunctionFailure, link: String? = nil) {
        // Not the function's fault; it may be called again.
        if failure.code == .hostLost {
            self.init(503, code: failure.code.rawValue, failure.message)
        } else {
            self.init(400, code: failure.code.rawValue, failure.message)
        }
        self.link = link
    }

    /// The response to a client when a call of the document store failed with an error that `DataAccess` or `DocumentTurns` threw.
    public init(call error: any Error) {
        if let error = error as? DocumentStoreError, error.code == .overloaded {
            self.init(429, code: "TooManyRequests", error.message, headers: ["Retry-After": "1"])
            return
        }
        let failure = EffectFailure(error)
        switch failure.name {
        case "NoMatchingRuleFound": self.init(403, code: failure.name, failure.message)
        case "MongoDBError" where failure.code == nil:
            // The store didn't answer; it is unavailable.
            self.init(503, code: "ServiceUnavailable", failure.message)
        default: self.init(400, code: failure.name, failure.message)
        }
    }
}
