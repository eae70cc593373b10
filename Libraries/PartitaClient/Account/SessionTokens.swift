import DocumentModel

/// The tokens of a session: returns a valid access token, and fetches a new one when needed, once for all concurrent
/// callers.
actor SessionTokens {
    private let api: AccountAPI
    private var refreshToken: String
    /// Saves the tokens for which the given refresh token was exchanged, and returns whether the session is still the device's.
    private let save: @Sendable (AccountAPI.Tokens, _ former: String) async throws -> Bool
    private var access: AccessToken?
    private var refreshing: Task<AccessToken, any Error>?
    private var isClosed = false

    /// - Parameter isNew: whether the tokens were received just now.
    init(
        api: AccountAPI, _ tokens: AccountAPI.Tokens, isNew: Bool,
        save: @escaping @Sendable (AccountAPI.Tokens, _ former: String) async throws -> Bool
    ) {
        self.api = api
        self.save = save
        refreshToken = tokens.refresh
        access = AccessToken(tokens.access, received: isNew ? .now : nil)
    }

    /// Ends the use of the session on this device, also for those who wait for a token.
    func close() {
        isClosed = true
        refreshing?.cancel()
    }

    /// Returns an access token that is valid for at least ten seconds, or a new one.
    ///
    /// - Parameter fresh: Whether a cached token must not be used.
    /// - Throws: `PartitaError` with code `signedOut` when the session has ended, `closed` when it has ended on this device.
    func accessToken(fresh: Bool) async throws -> AccessToken {
        try requireOpen()
        let now = WallClock.system.now()
        if !fresh, let access, access.remaining(nowMilliseconds: now) > .seconds(10) { return access }
        do {
            if let refreshing { return try await refreshing.value }
            // All callers that need a token meanwhile await this task, and so does the one that started it.
            let task = Task { try await refresh() }
            refreshing = task
            defer { refreshing = nil }
            return try await task.value
        } catch is CancellationError {
            try requireOpen()
            throw CancellationError()
        }
    }

    /// Calls `call` with a token, and again with a fresh one when the token was rejected.
    func withToken<T: Sendable>(_ call: @Sendable (String) async throws -> T) async throws -> T {
        do {
            return try await call(accessToken(fresh: false).text)
        } catch let error as PartitaError where error.code == .signedOut {
            return try await call(accessToken(fresh: true).text)
        }
    }

    private func requireOpen() throws(PartitaError) {
        if isClosed { throw PartitaError(code: .closed, message: "the session has ended on this device") }
    }

    /// Exchanges the refresh token. The backend gives a new one with each access token, and the old one remains valid until the new one is used; so
    /// the new one is saved before.
    private func refresh() async throws -> AccessToken {
        let former = refreshToken
        let tokens = try await api.refresh(former)
        guard let token = AccessToken(tokens.access, received: .now) else {
            throw PartitaError(code: .badResponse, message: "the access token is malformed")
        }
        guard try await save(tokens, former) else {
            throw PartitaError(code: .closed, message: "the session has ended on this device")
        }
        refreshToken = tokens.refresh
        access = token
        return token
    }
}
