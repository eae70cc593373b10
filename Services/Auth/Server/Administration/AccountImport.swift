import DocumentModel
import EventLoop
public import Postgres
import ServiceEngines

/// Brings users of another system in, with their ids and identities. No event is published for them: they aren't new.
public struct AccountImport: Sendable {
    /// What became of a user.
    public enum Outcome: Sendable {
        case added
        /// There is a user of that id already; nothing is changed.
        case known
        case refused(String)
    }

    private let client: PostgresClient
    private let app: String

    public init(client: PostgresClient, app: String) {
        self.client = client
        self.app = app
    }

    /// Adds users in one transaction. Users who are there already stay as they are, so that an import can run again.
    ///
    /// - Returns: an outcome for each user, in their order.
    public func add(_ users: [ImportedUser]) async throws -> [Outcome] {
        for _ in 1...3 {
            do { return try await attempt(users) } catch let error as PostgresError where error.sqlstate == "23505" {
                // Somebody registered one of the identities meanwhile; the next attempt sees it.
                continue
            } catch let error as PostgresError where error.failureClass == .refused {
                break
            }
        }
        // One that can't be stored must not keep the others out.
        var outcomes: [Outcome] = []
        for user in users {
            do {
                outcomes += try await attempt([user])
            } catch let error as PostgresError where error.failureClass == .refused {
                outcomes.append(.refused("Postgres can't store it: \(error.message)"))
            }
        }
        return outcomes
    }

    private func attempt(_ users: [ImportedUser]) async throws -> [Outcome] {
        try await client.withTransaction { transaction in
            // The tables grow with the import. A plan that was made when they were small would read all of them for each batch.
            try await transaction.execute("SET LOCAL plan_cache_mode = force_custom_plan")
            let tables = AccountTables(sql: transaction)
            var known = try await tables.knownUsers(users.map(\.id), of: app)
            let deleted = try await tables.deletedUsers(users.map(\.id), of: app)
            var owners = try await tables.lockedOwners(users.flatMap(\.identities), of: app)
            var outcomes: [Outcome] = []
            var added: [ImportedUser] = []
            for user in users {
                let foreign = user.identities.first { identity in owners[IdentityName(identity)]?.isPending == false }
                if known.contains(user.id) {
                    outcomes.append(.known)
                } else if deleted.contains(user.id) {
                    outcomes.append(.refused("the user was deleted here"))
                } else if let foreign {
                    outcomes.append(
                        .refused("the identity \(foreign.provider) \(foreign.subject) belongs to another user"))
                } else {
                    known.insert(user.id)
                    for identity in user.identities {
                        // Whoever registered the address has not confirmed it.
                        let former = owners.updateValue((user.id, false), forKey: IdentityName(identity))
                        if let former, former.isPending {
                            try await tables.deleteUser(former.user, of: app, now: WallClock.system.now())
                        }
                    }
                    added.append(user)
                    outcomes.append(.added)
                }
            }
            if !added.isEmpty { try await tables.insert(added, of: app) }
            return outcomes
        }
    }
}

/// What a provider knows a user by.
struct IdentityName: Hashable {
    @ExactText var provider: String
    @ExactText var subject: String

    init(provider: String, subject: String) {
        self.provider = provider
        self.subject = subject
    }

    init(_ identity: ImportedUser.Identity) { self.init(provider: identity.provider, subject: identity.subject) }
}

extension AccountTables {
    fileprivate func knownUsers(_ ids: [String], of app: String) async throws -> Set<ExactText> {
        Set(
            texts: try await sql.query(
                """
                SELECT u.id FROM unnest($2::text[]) n (id) JOIN partita.auth_users u ON u.app = $1 AND u.id = n.id
                """, [.text(app), .textArray(ids)]
            ).decode(String.self))
    }

    fileprivate func deletedUsers(_ ids: [String], of app: String) async throws -> Set<ExactText> {
        Set(texts: try await ShutOutTable(sql).deleted(among: ids, app: app))
    }

    /// The owners of identities. The pending ones are locked, so that none of them is confirmed before it is deleted.
    fileprivate func lockedOwners(
        _ identities: [ImportedUser.Identity], of app: String
    ) async throws -> [IdentityName: (user: String, isPending: Bool)] {
        var locked: Set<ExactText> = []
        while true {
            let owners = try await owners(identities, of: app)
            let pending = Set(texts: owners.values.filter(\.isPending).map(\.user)).subtracting(locked)
            if pending.isEmpty { return owners }
            _ = try await sql.query(
                "SELECT FROM partita.auth_users WHERE app = $1 AND id = any($2::text[]) ORDER BY id FOR UPDATE",
                [.text(app), .textArray(pending.sortedTexts)])
            // Whoever was faster has confirmed some, or deleted them.
            locked.formUnion(pending)
        }
    }

    private func owners(
        _ identities: [ImportedUser.Identity], of app: String
    ) async throws -> [IdentityName: (user: String, isPending: Bool)] {
        let rows = try await sql.query(
            """
            SELECT i.provider, i.subject, i.user_id, u.is_pending
            FROM unnest($2::text[], $3::text[]) n (provider, subject)
            JOIN partita.auth_identities i ON i.app = $1 AND i.provider = n.provider AND i.subject = n.subject
            JOIN partita.auth_users u ON u.app = i.app AND u.id = i.user_id
            """,
            [.text(app), .textArray(identities.map(\.provider)), .textArray(identities.map(\.subject))]
        ).decode((String, String, String, Bool).self)
        return Dictionary(
            rows.map { (IdentityName(provider: $0.0, subject: $0.1), ($0.2, $0.3)) }, uniquingKeysWith: { $1 })
    }

    fileprivate func insert(_ users: [ImportedUser], of app: String) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_users (app, id, data, is_disabled, created_at, last_sign_in)
            SELECT $1, id, data::json, is_disabled, created_at, last_sign_in
            FROM unnest($2::text[], $3::text[], $4::boolean[], $5::int8[], $6::int8[])
                u (id, data, is_disabled, created_at, last_sign_in)
            """,
            [
                .text(app), .textArray(users.map(\.id)),
                .textArray(users.map { ExtendedJSON.print(.document($0.data)) }), .boolArray(users.map(\.isDisabled)),
                .int8Array(users.map(\.createdAt)), .int8Array(users.map(\.lastSignIn)),
            ])
        let rows = users.flatMap { user in user.identities.map { (user, $0) } }
        try await sql.execute(
            """
            INSERT INTO partita.auth_identities (app, provider, subject, id, user_id, password_hash, created_at)
            SELECT $1, provider, subject, id, user_id, password_hash, created_at
            FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[])
                i (provider, subject, id, user_id, password_hash, created_at)
            """,
            [
                .text(app), .textArray(rows.map(\.1.provider)), .textArray(rows.map(\.1.subject)),
                .textArray(rows.map(\.1.id)), .textArray(rows.map(\.0.id)), .textArray(rows.map(\.1.passwordHash)),
                .int8Array(rows.map(\.0.createdAt)),
            ])
    }
}
