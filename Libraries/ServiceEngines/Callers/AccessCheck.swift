public import AccessTokens
import EventStream
import EventTopics

/// Tells who calls: whether an access token is good, and whether its user or its session has been shut out since it was signed.
public struct AccessCheck: Sendable {
    public let verifier: TokenVerifier
    public let shutOut: ShutOut
    let signingKeys: StateReader<SigningKeyEvent>

    /// Whether it can tell. Before, at the start of a service, a good token looks like a stranger's.
    var isLoaded: Bool { signingKeys.isCaughtUp && shutOut.isLoaded }

    /// Returns when it can tell.
    /// - Throws: `CancellationError`.
    func waitUntilLoaded() async throws {
        try await signingKeys.waitUntilCaughtUp()
        try await shutOut.waitUntilLoaded()
    }
}
