public import AccessTokens
import DocumentModel
import EventStream
import EventTopics

/// Checks callers: whether an access token is valid, and whether its user was blocked or its session ended after it was signed.
public struct AccessCheck: Sendable {
    public let verifier: TokenVerifier
    public let shutOut: ShutOut
    let clock: WallClock
    let signingKeys: StateReader<SigningKeyEvent>

    /// Whether tokens can be checked. Until then, at the start of a service, a valid token looks unknown.
    var isLoaded: Bool { signingKeys.isCaughtUp && shutOut.isLoaded }

    /// Returns when tokens can be checked.
    /// - Throws: `CancellationError`.
    func waitUntilLoaded() async throws {
        try await signingKeys.waitUntilCaughtUp()
        try await shutOut.waitUntilLoaded()
    }
}
