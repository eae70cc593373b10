import AccessTokens
import AppRegistry
import DocumentModel
import Texts

/// What can be done with a user that exists: deleting, disabling, API keys.
struct Users: Sendable {
    let accounts: Accounts
    let ends: SessionEnds

    private static let apiKeyLimit = 20

    /// Deletes an account with its sessions and keys.
    ///
    /// - Throws: `userNotFound`.
    func delete(_ id: String, app: String) async throws {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(id, of: app, locked: true) else {
                throw AuthError(.userNotFound, "user not found")
            }
            try await remove(user, in: tables)
        }
    }

    /// Deletes an anonymous account, unless it was used since a time, or has become another one.
    ///
    /// - Returns: whether it was deleted.
    func deleteAnonymous(_ id: String, app: String, unusedSince time: Int64) async throws -> Bool {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(id, of: app, locked: true),
                try await tables.isIdle(id, of: app, since: time)
            else { return false }
            try await remove(user, in: tables)
            return true
        }
    }

    /// Deletes a user whose row is locked by this transaction.
    private func remove(_ user: User, in tables: AccountTables) async throws {
        try await ends.endAll(of: user, by: .administrator, in: tables)
        try await tables.append(accounts.event(.userDeleted, user, providers: user.identities.map(\.provider)))
        try await tables.deleteUser(user.id, of: user.app, now: accounts.clock.now())
    }

    /// Disables a user's account, or enables it again. Disabling ends all sessions. Access tokens stay valid for a while, so services
    /// check which users are blocked.
    ///
    /// - Throws: `userNotFound`.
    func setDisabled(_ isDisabled: Bool, _ id: String, app: String) async throws {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(id, of: app, locked: true) else {
                throw AuthError(.userNotFound, "user not found")
            }
            try await tables.setDisabled(isDisabled, user: id, of: app)
            if isDisabled { try await ends.endAll(of: user, by: .administrator, in: tables) }
            try await tables.append(accounts.event(isDisabled ? .userDisabled : .userEnabled, user))
        }
    }

    /// Ends all sessions of a user.
    ///
    /// - Throws: `userNotFound`.
    func revokeSessions(_ id: String, app: String) async throws {
        try await accounts.transaction { tables in
            guard let user = try await tables.user(id, of: app, locked: true) else {
                throw AuthError(.userNotFound, "user not found")
            }
            try await ends.endAll(of: user, by: .administrator, in: tables)
        }
    }

    // MARK: API keys

    /// Makes a key; it can't be shown again later.
    ///
    /// - Parameters:
    ///   - session: that of the user who makes it. When it began with a key, the new key ends with that one.
    ///   - check: throws unless the session lives: who has ended it, or disabled the user, also ends the keys that were there.
    /// - Throws: `apiKeyAlreadyExists` for a name that the user has used, `badRequest` beyond 20 keys; what `check` throws.
    func makeAPIKey(
        named name: String, user: User, session: String, check: @Sendable (AccountTables) async throws -> Void
    ) async throws -> (row: APIKeyRow, key: String) {
        try Self.check(keyName: name)
        let key = Self.newKey()
        let row = APIKeyRow(id: ObjectId().hexString, name: name, isDisabled: false)
        let now = accounts.clock.now()
        try await accounts.store.transaction { tables in
            _ = try await tables.user(user.id, of: user.app, locked: true)
            try await check(tables)
            guard try await tables.apiKeys(user: user.id, of: user.app).count < Self.apiKeyLimit else {
                throw AuthError(.badRequest, "a user has at most \(Self.apiKeyLimit) API keys")
            }
            guard
                try await tables.insertAPIKey(
                    row, hash: Sodium.digest(key), user: user.id, of: user.app, session: session, now: now)
            else { throw AuthError(.apiKeyAlreadyExists, "a key of that name exists") }
        }
        return (row, key)
    }

    static func newKey() -> String { Hex.text(Sodium.randomBytes(32)) }

    static func check(keyName name: String) throws(AuthError) {
        guard !name.isEmpty, name.utf8.count <= 128,
            name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw AuthError(.invalidParameter, "a key's name has 1 to 128 characters of ASCII without spaces") }
    }

    /// - Throws: `apiKeyNotFound`.
    func apiKey(_ id: String, user: User) async throws -> APIKeyRow {
        guard
            let row = try await accounts.tables.apiKeys(user: user.id, of: user.app).first(where: {
                $0.id.hasSameBytes(as: id)
            })
        else {
            throw Self.keyNotFound
        }
        return row
    }

    /// Keeps a key, and those that it made, from signing in, which ends the sessions that began with them; or lets it sign in again.
    ///
    /// - Parameter check: throws unless the session lives in which that is asked for.
    /// - Throws: `apiKeyNotFound`; what `check` throws.
    func setAPIKey(
        _ id: String, isDisabled: Bool, user: User, check: @Sendable (AccountTables) async throws -> Void
    ) async throws {
        try await change(user) { tables in
            try await check(tables)
            guard isDisabled else {
                guard try await tables.enableAPIKey(id, user: user.id, of: user.app) else { throw Self.keyNotFound }
                return
            }
            try await end(tables.disableAPIKey(id, user: user.id, of: user.app), of: user, in: tables)
        }
    }

    /// Deletes a key, and those that it made, which ends the sessions that began with them.
    ///
    /// - Throws: `apiKeyNotFound`.
    func deleteAPIKey(_ id: String, user: User) async throws {
        try await change(user) { tables in
            try await end(tables.deleteAPIKey(id, user: user.id, of: user.app), of: user, in: tables)
        }
    }

    private func end(_ keys: [String], of user: User, in tables: AccountTables) async throws {
        if keys.isEmpty { throw Self.keyNotFound }
        for key in keys { try await ends.endAll(ofAPIKey: key, of: user, in: tables) }
    }

    private static let keyNotFound = AuthError(.apiKeyNotFound, "API key not found")

    /// A transaction that has the user's row, as sign-ins have: none of them begins a session meanwhile.
    private func change(
        _ user: User, _ body: nonisolated(nonsending) (AccountTables) async throws -> Void
    ) async throws {
        try await accounts.transaction { tables in
            _ = try await tables.user(user.id, of: user.app, locked: true)
            try await body(tables)
        }
    }
}

extension Document {
    /// - Throws: `missingParameter`, or `invalidParameter` for another type.
    func requiredString(_ name: String) throws(AuthError) -> String {
        guard let value = self[name] else { throw AuthError(.missingParameter, "\(name) is missing") }
        guard case .string(let text) = value else { throw AuthError(.invalidParameter, "\(name) must be a string") }
        // Postgres can't store U+0000.
        guard !text.utf8.contains(0) else { throw AuthError(.invalidParameter, "\(name) holds U+0000") }
        return text
    }
}
