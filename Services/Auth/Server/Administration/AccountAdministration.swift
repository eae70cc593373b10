public import DocumentModel
public import Postgres

/// The users of an app for its operators, straight on the tables of auth, with or without a running service. A running one publishes the
/// events within a second or so.
public struct AccountAdministration: Sendable {
    private let accounts: Accounts
    private let ends: SessionEnds
    private let users: Users
    private let app: String

    public init(client: PostgresClient, app: String, clock: WallClock = .system) {
        self.init(accounts: Accounts(store: AccountStore(client: client), wakeOutbox: {}, clock: clock), app: app)
    }

    init(accounts: Accounts, app: String) {
        self.accounts = accounts
        ends = SessionEnds(accounts: accounts)
        users = Users(accounts: accounts, ends: ends)
        self.app = app
    }

    /// Creates the tables that are missing, for commands before auth's first start.
    public static func migrate(_ client: PostgresClient) async throws {
        try await AccountStore.migrations.apply(on: client)
    }

    /// A page of users in the order of their ids.
    public func list(after id: String, limit: Int) async throws -> [Document] {
        try await accounts.tables.users(of: app, after: id, limit: limit).map(\.administrativeDocument)
    }

    /// The id of the user that a text names: an id, or an e-mail address of `local-userpass`.
    ///
    /// - Returns: `nil` when there is none.
    public func id(of text: String) async throws -> String? {
        if let user = try await accounts.tables.user(text, of: app) { return user.id }
        return try await accounts.tables.identity(Registration.provider, text, of: app)?.userId
    }

    /// A user with identities and sessions; `nil` when there is none.
    public func user(_ id: String) async throws -> Document? {
        guard let user = try await accounts.tables.user(id, of: app) else { return nil }
        var document = user.administrativeDocument
        document["identities"] = .array(
            try await accounts.tables.identities(ofUser: id, app: app).map { row in
                ["id": .string(row.id), "provider_type": .string(row.provider), "subject": .string(row.subject)]
            })
        return document
    }

    /// The user's sessions that haven't ended, the most recently used first.
    public func sessions(ofUser id: String) async throws -> [Document] {
        try await accounts.tables.liveSessions(
            ofUser: id, app: app, now: accounts.clock.now(), limit: SessionListing.limit
        ).map(\.document)
    }

    /// Disables a user, which ends all sessions, or enables one again.
    public func setDisabled(_ isDisabled: Bool, _ id: String) async throws {
        try await users.setDisabled(isDisabled, id, app: app)
    }

    /// Deletes a user with identities, sessions and keys.
    public func delete(_ id: String) async throws { try await users.delete(id, app: app) }

    /// Ends all sessions of a user.
    public func endSessions(ofUser id: String) async throws { try await users.revokeSessions(id, app: app) }

    /// Ends one session of a user.
    ///
    /// - Throws: when the user has no such session, or it is over.
    public func endSession(_ session: String, ofUser id: String) async throws {
        guard let user = try await accounts.tables.user(id, of: app) else {
            throw AuthError(.userNotFound, "user not found")
        }
        try await ends.end(session, of: user)
    }

    /// All that auth has of a user, for that user; without what lets others sign in.
    public func export(_ id: String) async throws -> Document? {
        guard var document = try await user(id) else { return nil }
        document["sessions"] = .array(
            try await accounts.tables.allSessions(ofUser: id, app: app).map { .document($0.document) })
        document["apiKeys"] = .array(
            try await accounts.tables.apiKeys(user: id, of: app).map { row in
                ["_id": .string(row.id), "name": .string(row.name), "disabled": .bool(row.isDisabled)]
            })
        document["pushRegistrations"] = .array(
            try await accounts.tables.pushRegistrations(ofUser: id, of: app).map { row in
                [
                    "device": .string(deviceName(of: row.device)), "provider": .string(row.provider),
                    "token": row.token.map(Value.string) ?? .null,
                ]
            })
        return document
    }
}

extension User {
    /// As administrators see it.
    var administrativeDocument: Document {
        var document = document
        document["pending"] = .bool(isPending)
        document["disabled"] = .bool(isDisabled)
        document["createdAt"] = .date(createdAt)
        document["lastSignIn"] = lastSignIn.map(Value.date) ?? .null
        return document
    }
}
