import HTTPServer

/// The refusal of a call, as the client gets it.
struct AuthError: Error, Sendable, CustomStringConvertible {
    /// The names that clients know (`error_code`), each with its status.
    enum Code: String, CaseIterable, Sendable {
        case accountNameInUse = "AccountNameInUse"
        case adminAPIOff = "AdminAPIOff"
        case adminAppForbidden = "AdminAppForbidden"
        case adminRoleMissing = "AdminRoleMissing"
        case adminTokenExpired = "AdminTokenExpired"
        case adminTokenNotFound = "AdminTokenNotFound"
        case adminTokenRevoked = "AdminTokenRevoked"
        case apiKeyAlreadyExists = "APIKeyAlreadyExists"
        case apiKeyNotFound = "APIKeyNotFound"
        case appNotFound = "AppNotFound"
        case authError = "AuthError"
        case authProviderNotFound = "AuthProviderNotFound"
        case badRequest = "BadRequest"
        case domainNotAllowed = "DomainNotAllowed"
        case executionTimeLimitExceeded = "ExecutionTimeLimitExceeded"
        case functionExecutionError = "FunctionExecutionError"
        case functionNotFound = "FunctionNotFound"
        case functionSyntaxError = "FunctionSyntaxError"
        case invalidParameter = "InvalidParameter"
        case invalidPassword = "InvalidPassword"
        case invalidSession = "InvalidSession"
        case memoryLimitExceeded = "MemoryLimitExceeded"
        case missingAuthReq = "MissingAuthReq"
        case missingParameter = "MissingParameter"
        case requestEntityTooLarge = "RequestEntityTooLarge"
        case secretNotFound = "SecretNotFound"
        case sessionNotFound = "SessionNotFound"
        case serviceUnavailable = "ServiceUnavailable"
        case sizeLimitExceeded = "SizeLimitExceeded"
        case tooManyRequests = "TooManyRequests"
        case userAlreadyConfirmed = "UserAlreadyConfirmed"
        case userDisabled = "UserDisabled"
        case userNotFound = "UserNotFound"
        case userpassTokenInvalid = "UserpassTokenInvalid"

        var status: Int {
            switch self {
            case .adminTokenExpired, .adminTokenRevoked, .authError, .domainNotAllowed, .invalidPassword,
                .invalidSession,
                .missingAuthReq:
                401
            case .adminAppForbidden, .adminRoleMissing, .userDisabled: 403
            case .adminAPIOff, .adminTokenNotFound, .appNotFound, .authProviderNotFound, .apiKeyNotFound,
                .secretNotFound, .sessionNotFound, .userNotFound:
                404
            case .accountNameInUse, .apiKeyAlreadyExists: 409
            case .requestEntityTooLarge: 413
            case .tooManyRequests: 429
            case .serviceUnavailable: 503
            case .badRequest, .executionTimeLimitExceeded, .functionExecutionError, .functionNotFound,
                .functionSyntaxError, .invalidParameter, .memoryLimitExceeded, .missingParameter, .sizeLimitExceeded,
                .userAlreadyConfirmed, .userpassTokenInvalid:
                400
            }
        }
    }

    var code: Code
    var message: String
    /// Seconds, for `tooManyRequests` and `serviceUnavailable`.
    var retryAfter: Int?
    /// The underlying error, for the log only.
    var cause: (any Error)?

    init(_ code: Code, _ message: String, retryAfter: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.cause = cause
    }

    var description: String { "\(code.rawValue): \(message)" + (cause.map { ": \($0)" } ?? "") }
}

extension AuthError: HTTPErrorConvertible {
    var httpError: HTTPError {
        var headers = HTTPHeaders()
        if let retryAfter { headers.add("Retry-After", "\(retryAfter)") }
        return HTTPError(code.status, code: code.rawValue, message, headers: headers)
    }
}
