public import DocumentModel
public import Postgres

/// The tokens of the administration API. Only who has access to Postgres makes and revokes them.
public struct AdminTokens: Sendable {
    private let tables: AccountTables
    private let clock: WallClock

    public init(client: PostgresClient, clock: WallClock = .system) {
        tables = AccountTables(sql: client)
        self.clock = clock
    }

    /// The most characters of a token's name.
    public static let nameLimit = 100
    /// What each token begins with, so that scanners of source code and logs can find one.
    private static let prefix = "partita"

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - app: the only app that it is for; `nil` for all.
    ///   - days: after which it expires; `nil`: never.
    /// - Returns: the token, which can't be shown again.
    /// - Throws: `AuthError` `invalidParameter` for a name that is empty, too long or has control characters, or without a role.
    public func make(named name: String, roles: Set<AdminRole>, app: String?, days: Int?) async throws -> String {
        guard !name.isEmpty, name.count <= Self.nameLimit, !name.unicodeScalars.contains(where: { $0.value < 0x20 })
        else {
            throw AuthError(
                .invalidParameter, "a token's name has 1 to \(Self.nameLimit) characters without control characters")
        }
        guard !roles.isEmpty else { throw AuthError(.invalidParameter, "a token needs a role") }
        let now = clock.now()
        let secret = Users.newKey()
        let row = AdminTokenRow(
            id: ObjectId().hexString, name: name, hash: Sodium.digest(secret), roles: roles, app: app, createdAt: now,
            expiresAt: days.map { now + Int64($0) * 86_400_000 }, revokedAt: nil)
        try await tables.insertAdminToken(row)
        return "\(Self.prefix)_\(row.id)_\(secret)"
    }

    /// All tokens, the newest first: `id`, `name`, `roles`, `app`, `createdAt`, `expiresAt`, `state`.
    public func list() async throws -> [Document] {
        let now = clock.now()
        return try await tables.adminTokens().map { row in
            [
                "id": .string(row.id), "name": .string(row.name),
                "roles": .array(row.roleNames.map(Value.string)), "app": row.app.map(Value.string) ?? .null,
                "createdAt": .date(row.createdAt), "expiresAt": row.expiresAt.map(Value.date) ?? .null,
                "state": .string(row.state(at: now).rawValue),
            ]
        }
    }

    /// Revokes a token; it is refused from the next call on.
    ///
    /// - Throws: `AuthError` `adminTokenNotFound` when there is none with this id, or it is revoked already.
    public func revoke(_ id: String) async throws {
        guard try await tables.revokeAdminToken(id, now: clock.now()) else {
            throw AuthError(
                .adminTokenNotFound, "there is no token \(id), or it is revoked; `partita admin-tokens list` lists them"
            )
        }
    }

    /// The row of a token that a caller shows, whatever its state; `nil` for anything else.
    func find(_ token: String) async throws -> AdminTokenRow? {
        guard let (id, secret) = Self.parts(of: token) else { return nil }
        // The id is no secret: finding it may take another time than not finding it.
        guard let row = try await tables.adminToken(id), Sodium.areEqual(row.hash, Sodium.digest(secret)) else {
            return nil
        }
        return row
    }

    /// Whether a text has the form of the tokens that are stored.
    static func isStored(_ token: String) -> Bool { parts(of: token) != nil }

    private static func parts(of token: String) -> (id: String, secret: String)? {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == Self.prefix, ObjectId(hexString: parts[1]) != nil else { return nil }
        return (parts[1], parts[2])
    }
}
