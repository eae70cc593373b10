import DocumentModel

/// The tokens of a session: gives a valid access token, and gets a new one when needed, once for all who wait for it.
actor SessionTokens {
    private let api: AccountAPI
    private let refreshToken: String
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

    /// A token that is valid for a while.
    ///
    /// - Parameter fresh: Whether the one that is at hand won't do.
    /// - Throws: `PartitaError` with code `signedOut` when the session has ended.
    func accessToken(fresh: Bool) async throws -> AccessToken {
        let now = WallClock.system.now()
        if !fresh, let access, access.remaining(nowMilliseconds: now) > .seconds(10) { return access }
        if let refreshing { return try await refreshing.value }
        // Everybody who asks meanwhile awaits this task; so does the one who started it.
        let task = Task { try await refresh() }
        refreshing = task
        defer { refreshing = nil }
        let token = try await task.value
        access = token
        return token
    }

    /// Calls with a token, and once more with a fresh one when it was refused.
    func withToken<T: Sendable>(_ call: @Sendable (String) async throws -> T) async throws -> T {
        do {
            return try await call(accessToken(fresh: false).text)
        } catch let error as PartitaError where error.code == .signedOut {
            return try await call(accessToken(fresh: true).text)
        }
    }

    /// Ends the session on the server.
    func logOut() async throws { try await api.logOut(refreshToken) }

    private func refresh() async throws -> AccessToken {
        let text = try await api.refresh(refreshToken)
        guard let token = AccessToken(text) else {
            throw PartitaError(code: .badResponse, message: "the access token is malformed")
        }
        try await save(text)
        return token
    }
}
