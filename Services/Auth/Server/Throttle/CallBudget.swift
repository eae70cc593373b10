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
            (key: "\(base):address:\(ClientNetwork(address).text)", perMinute: rates.address),
            (key: "\(base):app", perMinute: rates.app),
        ]
        if let session { counts.append((key: "\(base):session:\(session)", perMinute: self.session)) }
        try await store.require(counts, "too many calls")
    }
}
