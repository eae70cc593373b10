import ServiceBootstrap

/// How long tokens are valid, in seconds.
struct TokenLifetimes: Sendable {
    var access: Int64
    var refresh: Int64
    /// For how long the refresh token before the newest still works: the answer with the newest may have been lost.
    var rotationLeeway: Int64

    init(_ configuration: Configuration) {
        access = configuration[AuthKeys.accessTokenLifetime].components.seconds
        refresh = configuration[AuthKeys.refreshTokenLifetime].components.seconds
        rotationLeeway = configuration[AuthKeys.rotationLeeway].components.seconds
    }
}
