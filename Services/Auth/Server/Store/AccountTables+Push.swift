import EventTopics
import Postgres

extension AccountTables {
    /// The most registrations of a user; each is a device and a push service.
    private static let maximumPushRegistrations = 100

    /// Registers a device with a push service, or replaces its token.
    func registerPush(
        _ token: String, provider: String, device: String, user: String, of app: String, now: Int64
    ) async throws {
        let others = try await sql.query(
            """
            SELECT count(*) FROM partita.auth_push_registrations
            WHERE app = $1 AND user_id = $2 AND token IS NOT NULL AND (device, provider) <> ($3, $4)
            """, [.text(app), .text(user), .text(device), .text(provider)]
        ).decode(Int64.self)
        guard others[0] < Self.maximumPushRegistrations else {
            throw AuthError(
                .badRequest,
                "a user has at most \(Self.maximumPushRegistrations) registrations with push services: deregister a device"
            )
        }
        // Another user of the same device had it before: a message for them must not reach this one.
        try await sql.execute(
            """
            UPDATE partita.auth_push_registrations SET token = NULL, changed_at = $6, version = version + 1
            WHERE app = $1 AND provider = $2 AND token = $3 AND (user_id, device) <> ($4, $5)
            """, [.text(app), .text(provider), .text(token), .text(user), .text(device), .int(now)])
        // A registration that begins anew has later versions than the former one, of which no row tells any more.
        try await sql.execute(
            """
            INSERT INTO partita.auth_push_registrations AS r (app, user_id, device, provider, token, changed_at, version)
            VALUES ($1, $2, $3, $4, $5, $6, $6)
            ON CONFLICT (app, user_id, device, provider)
            DO UPDATE SET token = $5, changed_at = $6, version = r.version + 1 WHERE r.token IS DISTINCT FROM $5
            """, [.text(app), .text(user), .text(device), .text(provider), .text(token), .int(now)])
    }

    /// Deregisters a device from a push service. What isn't registered stays so.
    func deregisterPush(provider: String, device: String, user: String, of app: String, now: Int64) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_push_registrations SET token = NULL, changed_at = $5, version = version + 1
            WHERE app = $1 AND user_id = $2 AND device = $3 AND provider = $4 AND token IS NOT NULL
            """, [.text(app), .text(user), .text(device), .text(provider), .int(now)])
    }

    /// Deregisters all devices of a user.
    func deregisterPush(ofUser user: String, of app: String, now: Int64) async throws {
        try await sql.execute(
            """
            UPDATE partita.auth_push_registrations SET token = NULL, changed_at = $3, version = version + 1
            WHERE app = $1 AND user_id = $2 AND token IS NOT NULL
            """, [.text(app), .text(user), .int(now)])
    }

    /// The devices of a user that are registered.
    func pushRegistrations(ofUser user: String, of app: String) async throws -> [PushRegistrationEvent] {
        try await pushRegistrations(
            "app = $1 AND user_id = $2 AND token IS NOT NULL ORDER BY device, provider", [.text(app), .text(user)])
    }

    /// The changes that aren't published, the oldest first.
    func waitingPushRegistrations(limit: Int) async throws -> [PushRegistrationEvent] {
        try await pushRegistrations(
            "version <> published_version ORDER BY changed_at LIMIT $1", [.int(Int64(limit))])
    }

    /// The changes whose users aren't there any more.
    func ofDeletedUsers(_ changes: [PushRegistrationEvent]) async throws -> [PushRegistrationEvent] {
        if changes.isEmpty { return [] }
        let places = try await sql.query(
            """
            SELECT c.place FROM unnest($1::text[], $2::text[]) WITH ORDINALITY c (app, user_id, place)
            WHERE NOT EXISTS (SELECT FROM partita.auth_users u WHERE (u.app, u.id) = (c.app, c.user_id))
            """, [.textArray(changes.map(\.app)), .textArray(changes.map(\.user))]
        ).decode(Int64.self)
        return places.map { changes[Int($0) - 1] }
    }

    private func pushRegistrations(
        _ condition: String, _ values: [PostgresValue]
    ) async throws -> [PushRegistrationEvent] {
        let rows = try await sql.query(
            """
            SELECT app, user_id, device, provider, token, version, changed_at
            FROM partita.auth_push_registrations WHERE \(condition)
            """, values
        ).decode((String, String, String, String, String?, Int64, Int64).self)
        return rows.map {
            PushRegistrationEvent(
                app: $0.0, user: $0.1, device: $0.2, provider: $0.3, token: $0.4, version: $0.5, time: $0.6)
        }
    }

    /// Marks changes as published, and deletes the rows of devices that have deregistered.
    func markPublished(_ changes: [PushRegistrationEvent]) async throws {
        let values: [PostgresValue] = [
            .textArray(changes.map(\.app)), .textArray(changes.map(\.user)), .textArray(changes.map(\.device)),
            .textArray(changes.map(\.provider)), .int8Array(changes.map(\.version)),
        ]
        // A change that came meanwhile has a newer version, and is published next.
        let these = """
            unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int8[]) c (app, user_id, device, provider, version)
            WHERE r.app = c.app AND r.user_id = c.user_id AND r.device = c.device AND r.provider = c.provider
            """
        try await sql.execute(
            """
            UPDATE partita.auth_push_registrations r SET published_version = c.version FROM \(these)
                AND r.published_version < c.version
            """, values)
        try await sql.execute(
            """
            DELETE FROM partita.auth_push_registrations r USING \(these)
                AND r.version = c.version AND r.token IS NULL
            """, values)
    }
}
