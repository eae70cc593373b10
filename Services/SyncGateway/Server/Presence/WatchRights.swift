import AppRegistry
import DocumentModel
import Postgres

/// Whose presence a user may receive: that of users with whom the user shares a partition that both may read, or that of all users
/// if the app is configured so (`presence.watch` of `partita.json`).
///
/// It is checked for each report, and not when watching begins: users may start or stop sharing a partition later.
struct WatchRights: Sendable {
    let client: PostgresClient
    let apps: AppDirectory

    /// A user who watches another one.
    struct Pair: Hashable, Sendable {
        @ExactText var app: String
        @ExactText var watcher: String
        @ExactText var user: String
    }

    /// The pairs in which the watcher may receive the user's presence.
    func allowed(_ pairs: Set<Pair>) async throws -> Set<Pair> {
        var allowed: Set<Pair> = [], asked: [Pair] = []
        for pair in pairs {
            if pair.watcher.hasSameBytes(as: pair.user) || apps.app(pair.app)?.definition.presenceWatch == .everybody {
                allowed.insert(pair)
            } else {
                asked.append(pair)
            }
        }
        guard !asked.isEmpty else { return allowed }
        let rows = try await client.query(
            Self.sharing,
            [.textArray(asked.map(\.app)), .textArray(asked.map(\.watcher)), .textArray(asked.map(\.user))])
        for place in try rows.decode(Int64.self) { allowed.insert(asked[Int(place) - 1]) }
        return allowed
    }

    /// The watcher's grant has to be valid now; that of the watched user may have expired, since it is renewed only while a device
    /// of that user is connected, and going offline has to be reported, too. It doesn't count for longer: one that has ended, since nobody used it,
    /// isn't revoked any more.
    private static let sharing = """
        select k.place from unnest($1::text[], $2::text[], $3::text[]) with ordinality k(app, watcher, user_id, place)
        where exists (
            select from partita.grants w cross join lateral partita.standing_grant(w.app, w.partition, k.watcher) s
            where w.app = k.app and w.user_id in (k.watcher, '*') and s.access <> 'none'
                and (
                    select u.access <> 'none' from partita.grants u
                    where u.app = w.app and u.partition = w.partition and u.user_id in (k.user_id, '*')
                        and coalesce(u.expires_at > now() - interval '1 hour', true)
                    order by u.user_id = '*' limit 1))
        """
}
