import Redis

/// Limits calls per minute that need no account and create rows. A minute's worth may come at once.
struct CallBudget: Sendable {
    /// The kinds of calls, each with counts of its own.
    enum Kind: String, Sendable { case anonymous, redirect, register, refresh }

    /// Calls a minute.
    struct Rates: Sendable {
        var address: Int
        var app: Int
    }

    let store: ThrottleStore
    let anonymous: Rates
    let register: Rates
    let refresh: Rates
    /// Refreshes of one session a minute.
    let session: Int

    /// Counts a call.
    ///
    /// - Parameter session: the session whose token is refreshed, so that one session can't use up the limit of all.
    /// - Throws: `tooManyRequests` with the seconds to wait; a refused call isn't counted.
    func spend(_ kind: Kind, app: String, address: String, session: String? = nil) async throws {
        let rates =
            switch kind {
            case .anonymous, .redirect: anonymous
            case .register: register
            case .refresh: refresh
            }
        let base = "\(app):budget:\(kind.rawValue)"
        var counts = [
            (key: "\(base):address:\(ClientNetwork(address).text)", rate: rates.address),
            (key: "\(base):app", rate: rates.app),
        ]
        if let session { counts.append((key: "\(base):session:\(session)", rate: self.session)) }
        try await store.require(
            Self.script, keys: counts.map(\.key), arguments: counts.map(\.rate), "too many calls")
    }

    private static let script = ThrottleScript(redis: RedisScript(PackageResources.budget_lua)) {
        counts, keys, arguments in
        let now = counts.now
        let paid = zip(keys, arguments).map { max(counts[$0].until, now) + 60_000 / Double($1) }
        let wait = (paid.max() ?? now) - now - 60_001
        if wait > 0 { return Int64(wait.rounded(.up)) }
        for (key, until) in zip(keys, paid) {
            counts.set(key, LocalCounts.Entry(until: until), memory: 120_000)
        }
        return 0
    }
}
