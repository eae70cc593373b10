import Redis

/// How often calls may be made that anybody can make and that leave something behind: so many a minute, all at once or spread.
struct CallBudget: Sendable {
    /// What is counted; each kind by itself.
    enum Kind: String, Sendable { case anonymous, register, refresh }

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
    /// - Parameter session: whose token is refreshed, so that one session doesn't use up what all have.
    /// - Throws: `tooManyRequests` with the seconds to wait; then nothing is counted.
    func spend(_ kind: Kind, app: String, address: String, session: String? = nil) async throws {
        let rates =
            switch kind {
            case .anonymous: anonymous
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
