import Texts

/// The users who have made slow calls not long ago.
struct SlowUsers {
    private struct User: Hashable {
        @ExactText var app: String
        let user: ExactText
    }

    /// The number of users that are remembered.
    private static let limit = 10_000

    private var ends: [User: ContinuousClock.Instant] = [:]

    func contains(_ app: String, _ user: ExactText, _ now: ContinuousClock.Instant) -> Bool {
        ends[User(app: app, user: user)].map { $0 > now } ?? false
    }

    mutating func insert(_ app: String, _ user: ExactText, until end: ContinuousClock.Instant) {
        if ends.count >= Self.limit {
            let now = ContinuousClock.now
            ends = ends.filter { $0.value > now }
            if ends.count >= Self.limit { ends = [:] }
        }
        ends[User(app: app, user: user)] = end
    }
}
