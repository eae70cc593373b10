import DocumentModel

/// The tokens of a session: returns a valid access token, and fetches a new one when needed, once for all concurrent
/// callers.
actor SessionTokens {
    private let api: AccountAPI
    let refreshToken: String
    private let save: @Sendable (String) async throws -> Void
    private var access: AccessToken?
    private var refreshing: Task<AccessToken, any Error>?

    init(
        api: AccountAPI, refreshToken: String, accessToken: String,
        save: @escaping @Sendable (String) async throws -> Void
    ) {
        self.api = api
        self.refreshToken = refreshToken
        self.save = save
        access = AccessToken(accessToken)
    }

    /// Returns an access token that is valid for at least ten seconds, or a new one.
    ///
    /// - Parameter fresh: Whether a cached token must not be used.
    /// - Throws: `PartitaError` with code `signedOut` when the session has ended.
    func accessToken(fresh: Bool) async throws -> AccessToken {
        let now = WallClock.system.now()
        if !fresh, let access, access.remaining(nowMilliseconds: now) > .seconds(10) { return access }
        if let refreshing { return try await refreshing.value }
        // All callers that need a token meanwhile await this task, and so does the one that started it.
        let task = Task { try await refresh() }
        refreshing = task
        defer { refreshing = nil }
        let token = try await task.value
        access = token
        return token
    }

    /// Calls `call` with a token, and again with a fresh one when the token was rejected.
    func withToken<T: Sendable>(_ call: @Sendable (String) async throws -> T) async throws -> T {
        do {
            return try await call(accessToken(fresh: false).text)
        } catch let error as PartitaError where error.code == .signedOut {
            return try await call(accessToken(fresh: true).text)
        }
    }

    private func refresh() async throws -> AccessToken {
        let text = try await api.refresh(refreshToken)
        guard let token = AccessToken(text) else {
            throw PartitaError(code: .badResponse, message: "the access token is malformed")
        }
        try await save(text)
        return token
    }
}
