public import DocumentModel
public import Postgres

/// API keys of servers: each signs in as a user of its own, of type `server`, which no person has. The data rules apply to it, and can tell
/// it by `%%user.type`.
public struct ServerKeys: Sendable {
    private let accounts: Accounts
    private let users: Users
    private let app: String

    private static let provider = "api-key"
    /// How many an app may have, as on Atlas.
    private static let limit = 100

    public init(client: PostgresClient, app: String, clock: WallClock = .system) {
        self.init(accounts: Accounts(store: AccountStore(client: client), wakeOutbox: {}, clock: clock), app: app)
    }

    init(accounts: Accounts, app: String) {
        self.accounts = accounts
        users = Users(accounts: accounts, ends: SessionEnds(accounts: accounts))
        self.app = app
    }

    /// Makes a key and its user.
    ///
    /// - Returns: the key, which can't be shown again.
    /// - Throws: when the app has a key of that name, or as many as it may have.
    public func make(named name: String) async throws -> String {
        try Users.check(keyName: name)
        let now = accounts.clock.now()
        let key = Users.newKey()
        let identity = IdentityRow(
            id: ObjectId().hexString, provider: Self.provider, subject: name, userId: ObjectId().hexString)
        let user = User(
            app: app, id: identity.userId, type: "server", data: ["name": .string(name)],
            identities: [User.Identity(id: identity.id, provider: Self.provider)], isPending: false, isDisabled: false,
            createdAt: now)
        try await accounts.transaction { tables in
            guard try await tables.serverKeys(of: app).count < Self.limit else {
                throw AuthError(.badRequest, "an app has at most \(Self.limit) server API keys")
            }
            try await tables.insertUser(user)
            guard try await tables.insertIdentity(identity, of: app, now: now),
                try await tables.insertAPIKey(
                    APIKeyRow(id: ObjectId().hexString, name: name, isDisabled: false), hash: Sodium.digest(key),
                    user: user.id, of: app, session: "", now: now)
            else { throw AuthError(.apiKeyAlreadyExists, "a server API key named \(name) exists") }
            try await tables.append(accounts.event(.userCreated, user, providers: [Self.provider]))
        }
        return key
    }

    /// The keys by their names: `name`, the id of its user (`user`), `disabled`.
    public func list() async throws -> [Document] {
        try await accounts.tables.serverKeys(of: app).map { row in
            ["name": .string(row.name), "user": .string(row.user), "disabled": .bool(row.isDisabled)]
        }
    }

    /// Keeps a key from signing in, which ends its sessions, or lets it sign in again.
    public func setDisabled(_ isDisabled: Bool, named name: String) async throws {
        try await users.setDisabled(isDisabled, try await user(of: name), app: app)
    }

    /// Deletes a key with its user.
    public func delete(named name: String) async throws {
        try await users.delete(try await user(of: name), app: app)
    }

    private func user(of name: String) async throws -> String {
        guard let identity = try await accounts.tables.identity(Self.provider, name, of: app) else {
            throw AuthError(.apiKeyNotFound, "the app has no server API key named \(name)")
        }
        return identity.userId
    }
}

extension AccountTables {
    /// A server API key.
    struct ServerKeyRow: Sendable {
        var name: String
        var user: String
        var isDisabled: Bool
    }

    func serverKeys(of app: String) async throws -> [ServerKeyRow] {
        let rows = try await sql.query(
            """
            SELECT i.subject, u.id, u.is_disabled FROM partita.auth_users u
            JOIN partita.auth_identities i ON i.app = u.app AND i.user_id = u.id AND i.provider = 'api-key'
            WHERE u.app = $1 AND u.type = 'server' ORDER BY i.subject
            """, [.text(app)]
        ).decode((String, String, Bool).self)
        return rows.map { ServerKeyRow(name: $0.0, user: $0.1, isDisabled: $0.2) }
    }
}
