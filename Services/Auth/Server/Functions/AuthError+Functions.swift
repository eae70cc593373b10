import FunctionProtocol

extension AuthError {
    /// The refusal when an app's function failed instead of deciding, with the code that calls of functions have for it. Why it failed is in
    /// the app's logs only: whoever calls hasn't signed in.
    init(failed function: String, _ error: any Error) {
        let code: Code =
            switch (error as? FunctionFailure)?.code {
            case .functionNotFound?: .functionNotFound
            case .functionSyntaxError?: .functionSyntaxError
            case .executionTimeLimitExceeded?: .executionTimeLimitExceeded
            case .memoryLimitExceeded?: .memoryLimitExceeded
            case .sizeLimitExceeded?: .sizeLimitExceeded
            case .functionExecutionError?, .hostLost?, nil: .functionExecutionError
            }
        self.init(code, "the function \(function) failed", cause: error)
    }
}
