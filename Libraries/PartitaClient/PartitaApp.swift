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
        try await close()
        try await sessions.save(
            SavedSession(
                userId: signIn.userId, refreshToken: signIn.refreshToken, accessToken: signIn.accessToken))
        return try await open(signIn.userId, refresh: signIn.refreshToken, access: signIn.accessToken)
    }

    /// The session of the signed-in user, also after a restart and offline; `nil` when no user is signed in.
    public func session() async throws -> Session? {
        if let current { return current }
        guard let saved = try await sessions.current() else { return nil }
        return try await open(saved.userId, refresh: saved.refreshToken, access: saved.accessToken)
    }

    /// Signs the user out: on this device at once, and on the server if it can be reached.
    ///
    /// - Parameter keepingData: Whether the user's documents and unsent writes stay on the device.
    public func logOut(keepingData: Bool = false) async throws {
        guard let (userId, refreshToken) = try await signedIn() else { return }
        let session = current
        current = nil
        try await sessions.remove(userId)
        await session?.end()
        // Before the call to the server, which may take long: the user may sign in again meanwhile.
        if !keepingData { try StoreFiles.remove(path(of: userId)) }
        do {
            try await api.logOut(refreshToken)
        } catch {
            // The session on the server ends with its refresh token; on this device it is over anyway.
        }
    }

    /// Who is signed in. The user's documents aren't read: who signs out because their file is damaged needs no file.
    private func signedIn() async throws -> (userId: String, refreshToken: String)? {
        if let current { return (current.userId, current.tokens.refreshToken) }
        return try await sessions.current().map { ($0.userId, $0.refreshToken) }
    }

    /// Closes the connection and the store; the user stays signed in.
    public func close() async throws {
        guard let session = current else { return }
        current = nil
        await session.end()
    }

    private func open(_ userId: String, refresh: String, access: String) async throws -> Session {
        let (api, sessions, configuration) = (api, sessions, configuration)
        let tokens = SessionTokens(api: api, refreshToken: refresh, accessToken: access) { accessToken in
            try await sessions.save(
                SavedSession(userId: userId, refreshToken: refresh, accessToken: accessToken))
        }
        let store = try await LocalStore.open(path: path(of: userId))
        let client = try await SyncClient(configuration: configuration, store: store, tokens: tokens) {
            try await Self.syncAddress(configuration, api)
        }
        let session = Session(userId: userId, client: client, tokens: tokens, api: api)
        await client.goOnline()
        // Another call may have opened it meanwhile: the first session is kept, since a file has one owner.
        if let current {
            await session.end()
            return current
        }
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
