import DocumentModel
import Foundation
import SQLite

/// An app's backend, and the session of the user who is signed in to it on this device.
///
/// ```swift
/// let app = try await PartitaApp(configuration)
/// let session = try await app.logIn(.emailPassword(email: email, password: password))
/// let conversation = try await session.openPartition("conversation=64f0")
/// try await conversation.write { $0.insert("ChatMessage", ["_id": .objectId(ObjectId()), "text": "hello"]) }
/// ```
public actor PartitaApp {
    private let configuration: PartitaConfiguration
    private let api: AccountAPI
    private let sessions: SessionStore
    private var current: Session?
    /// The last of what opens and ends sessions, one after the other: the actor lets others in wherever one of them waits.
    private var lastTurn: Task<Void, Never>?

    /// Opens the app's store on this device.
    ///
    /// - Throws: `PartitaError` with code `store`.
    public init(_ configuration: PartitaConfiguration) async throws {
        self.configuration = configuration
        api = AccountAPI(
            appId: configuration.appId, baseURL: configuration.baseURL, http: configuration.http)
        sessions = try await SessionStore.open(
            path: "\(configuration.directory)/\(FileName.of(configuration.appId)).sqlite")
    }

    /// Creates an account with email and password. The app's settings decide whether it must be confirmed first.
    public func register(email: String, password: String) async throws {
        try await api.register(email: email, password: password)
    }

    /// Signs a user in, and connects. An open session is closed; its data is kept.
    ///
    /// - Throws: `PartitaError`: `refused`, with the backend's `serverCode`, or `unreachable`.
    public func logIn(_ credentials: Credentials) async throws -> Session {
        var device = Self.device(appId: configuration.appId)
        device["deviceId"] = try await sessions.deviceId().map(Value.string)
        let signIn = try await api.logIn(credentials, device: device)
        if let id = signIn.deviceId { try await sessions.saveDeviceId(id) }
        return try await inTurn { app in
            await app.endSession()
            try await app.sessions.save(
                SavedSession(
                    userId: signIn.userId, refreshToken: signIn.tokens.refresh, accessToken: signIn.tokens.access))
            return try await app.open(signIn.userId, signIn.tokens, isNew: true)
        }
    }

    /// The session of the signed-in user, also after a restart and offline; `nil` when no user is signed in.
    public func session() async throws -> Session? {
        try await inTurn { app -> Session? in
            if let current = app.current { return current }
            guard let saved = try await app.sessions.current() else { return nil }
            let tokens = AccountAPI.Tokens(access: saved.accessToken, refresh: saved.refreshToken)
            return try await app.open(saved.userId, tokens, isNew: false)
        }
    }

    /// Signs the user out: on this device at once, and on the server if it can be reached.
    ///
    /// - Parameter keepingData: Whether the user's documents and unsent writes stay on the device.
    public func logOut(keepingData: Bool = false) async throws {
        // The user's documents aren't read: who signs out because their file is damaged needs no file.
        let ended = try await inTurn { app -> SavedSession? in
            let saved = try await app.sessions.current()
            if let saved { try await app.sessions.remove(saved.userId) }
            await app.endSession()
            if let saved, !keepingData { try StoreFiles.remove(app.path(of: saved.userId)) }
            return saved
        }
        // Not in the turn, since it may take long: the user may sign in again meanwhile.
        guard let ended else { return }
        do {
            try await api.logOut(ended.refreshToken)
        } catch {
            // The session on the server ends with its refresh token; on this device it is over anyway.
        }
    }

    /// Closes the connection and the store; the user stays signed in.
    public func close() async throws { try await inTurn { app in await app.endSession() } }

    private func endSession() async {
        guard let session = current else { return }
        current = nil
        await session.end()
    }

    private func inTurn<R: Sendable>(
        _ body: @escaping @Sendable (isolated PartitaApp) async throws -> R
    ) async throws -> R {
        let former = lastTurn
        let task = Task {
            await former?.value
            return try await body(self)
        }
        lastTurn = Task { _ = await task.result }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    private func open(_ userId: String, _ saved: AccountAPI.Tokens, isNew: Bool) async throws -> Session {
        let (api, sessions, configuration) = (api, sessions, configuration)
        let tokens = SessionTokens(api: api, saved, isNew: isNew) { tokens, former in
            try await sessions.renew(
                SavedSession(userId: userId, refreshToken: tokens.refresh, accessToken: tokens.access), from: former)
        }
        let store = try await LocalStore.open(path: path(of: userId))
        let client = try await SyncClient(configuration: configuration, store: store, tokens: tokens) {
            try await Self.syncAddress(configuration, api)
        }
        let session = Session(userId: userId, client: client, tokens: tokens, api: api)
        await client.goOnline()
        current = session
        return session
    }

    /// What a connection beside the session's own needs: the address, and an access token that is valid.
    ///
    /// - Throws: `PartitaError` with code `signedOut` when no user is signed in, and those of calls.
    package func syncAccess() async throws -> (url: String, token: String) {
        guard let session = try await session() else {
            throw PartitaError(code: .signedOut, message: "no user is signed in")
        }
        let token = try await session.tokens.accessToken(fresh: false)
        return (try await Self.syncAddress(configuration, api), token.text)
    }

    private static func syncAddress(_ configuration: PartitaConfiguration, _ api: AccountAPI) async throws -> String {
        let host = if let syncURL = configuration.syncURL { syncURL } else { try await api.syncHost() }
        return host + SyncAddress.path(appId: configuration.appId)
    }

    private func path(of userId: String) -> String {
        "\(configuration.directory)/\(FileName.of(configuration.appId))-\(FileName.of(userId)).sqlite"
    }

    private static func device(appId: String) -> Document {
        [
            "appId": .string(appId), "sdk": "PartitaClient",
            "platform": .string(ProcessInfo.processInfo.operatingSystemVersionString),
        ]
    }
}
