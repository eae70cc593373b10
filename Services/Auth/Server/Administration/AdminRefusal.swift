import AppDefinition
import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import FunctionProtocol
import HTTPServer
import Postgres
import ServiceEngines

/// Errors of what administrators do, as the administration API answers them.
enum AdminRefusal {
    /// The problems of an app that an answer has, at most.
    private static let problemLimit = 100

    /// - Returns: `nil` for an error that isn't the caller's to know.
    static func answer(to error: any Error) -> HTTPError? {
        switch error {
        case let error as any HTTPErrorConvertible: error.httpError
        case let error as DeploymentError: refusal(of: error)
        case let error as AppRegistryError:
            switch error.code {
            case .appUnknown: AuthError(.appNotFound, error.message).httpError
            case .versionUnknown: HTTPError(404, code: error.code.rawValue, error.message)
            case .encryptionKeyMissing: HTTPError(503, code: error.code.rawValue, error.message)
            case .definitionUnreadable: nil
            }
        case let error as AppDefinitionError:
            HTTPError(
                400, code: error.code.rawValue,
                ([error.message] + error.problems.prefix(problemLimit).map(\.description)).joined(separator: "\n"))
        case is FunctionFailure: AuthError(.serviceUnavailable, "no process can parse functions").httpError
        case let error as DocumentStoreError where error.code == .unavailable:
            AuthError(.serviceUnavailable, "the database can't be reached").httpError
        case is DocumentStoreError, is BulkWriteError, is EffectFailure, is QueryError: HTTPError(call: error)
        case let error as PostgresError where error.isDataException:
            AuthError(.invalidParameter, "a value of the request can't be stored").httpError
        case let error as PostgresError where error.failureClass != .refused:
            AuthError(.serviceUnavailable, "the database can't be reached").httpError
        default: nil
        }
    }

    private static func refusal(of error: DeploymentError) -> HTTPError {
        let status =
            switch error.code {
            case .deploymentRunning, .partitionsChange, .schemaBreaks, .indexFailed, .triggerState, .appInUse,
                .placeTaken, .pathAstray, .notSynced, .versionChanged, .idTaken, .deadLetterKind:
                409
            case .lockLost: 503
            case .sourceUnreadable, .indexInvalid: 400
            case .appUnknown, .versionUnknown, .triggerUnknown, .subjectUnknown, .deadLetterUnknown: 404
            }
        // The interface has a name for it already.
        let code = error.code == .appUnknown ? AuthError.Code.appNotFound.rawValue : error.code.rawValue
        return HTTPError(status, code: code, error.message)
    }
}
