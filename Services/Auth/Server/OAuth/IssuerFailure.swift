import AccessTokens
import AppRegistry
import Logging

/// What a client gets when an issuer's token is refused, or the issuer can't be asked.
struct IssuerFailure: Sendable {
    let app: DeployedApp
    let logger: Logger

    /// Runs requests to an issuer, and checks of its tokens.
    ///
    /// - Throws: `authError` with the reason of a refusal; `serviceUnavailable` when the issuer can't be asked.
    nonisolated(nonsending) func translating<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as AccessTokenError {
            throw AuthError(.authError, "the token is refused: \(error.code.rawValue)")
        } catch let error as PlainIssuerError {
            logger.error("an issuer isn't asked", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.authError, "the token is refused: the issuer's address is not https")
        } catch let error as IssuerUnavailableError {
            logger.warning("an issuer can't be asked", metadata: ["app": "\(app.id)", "error": "\(error)"])
            throw AuthError(.serviceUnavailable, "the issuer can't be reached now; try again later")
        }
    }
}
